// Redaction happens before anything of a response is archived, planned with or loaded.
import { expect, test } from "vitest";
import type { Redactor } from "../../../../src/api/redact.ts";
import { redactingSender } from "../../../../src/sync/request/fetcher.ts";
import type { Sender, Sending } from "../../../../src/sync/request/sender.ts";

const call = { endpoint: "listContacts", path: "/v1/contacts", query: {} } as const;
const body = { data: [{ id: 1, email: "x@y" }] };
const ok: Sending = {
  kind: "outcome",
  outcome: {
    kind: "ok",
    call,
    status: 200,
    sentAt: 1,
    durationMs: 1,
    bytes: 1,
    rate: null,
    data: body.data,
    included: null,
    page: { page: null, perPage: null, totalCount: null, totalPages: null },
    usage: null,
    timestamp: null,
    envelope: body,
    wire: { bytes: Buffer.from(JSON.stringify(body)), encoding: "identity" },
  },
};
const senderOf = (sending: Sending): Sender => ({
  turn: async () => undefined,
  giveBack: () => undefined,
  nextTurnAt: () => 7,
  send: async () => sending,
  observe: () => undefined,
  backOff: () => undefined,
});
const redact: Redactor = (envelope) => ({ ...envelope, data: [{ id: 1 }] });
const ends = { signal: new AbortController().signal, hardSignal: new AbortController().signal };
const sent = (sender: Sender) => sender.send({ requestId: "q", runId: "r", stream: "contacts", call }, ends);

test("neither rows nor the bytes for the archive hold what the rules forbid", async () => {
  const sending = await sent(redactingSender(senderOf(ok), redact));
  expect(sending).toMatchObject({ kind: "outcome", outcome: { data: [{ id: 1 }] } });
  if (sending.kind !== "outcome" || sending.outcome.kind !== "ok") throw new Error("no answer");
  expect(sending.outcome.wire.bytes.toString()).not.toContain("x@y");
});

test("what was not sent stays as it is, and without rules the sender is the same", async () => {
  const sender = senderOf({ kind: "unsent" });
  expect(await sent(redactingSender(sender, redact))).toEqual({ kind: "unsent" });
  expect(redactingSender(sender, redact).nextTurnAt()).toBe(7);
  expect(redactingSender(sender, null)).toBe(sender);
});
