// Redaction happens before anything of a response is archived, planned with or loaded.
import { expect, test } from "vitest";
import type { Redactor } from "../../../../src/api/redact.ts";
import { redactingSender } from "../../../../src/sync/request/fetcher.ts";
import type { Sender, Sending } from "../../../../src/sync/request/sender.ts";
import { aSender, ok, outcome } from "./outcomes.ts";

const call = { endpoint: "listContacts", path: "/v1/contacts", query: {} } as const;
const body = { data: [{ id: 1, email: "x@y" }] };
const wire = { bytes: Buffer.from(JSON.stringify(body)), encoding: "identity" } as const;
const answer = outcome({ ...ok, call, data: body.data, envelope: body, wire });
const senderOf = (sending: Sending) => aSender({ nextTurnAt: () => 7, send: async () => sending });
const redact: Redactor = (envelope) => ({ ...envelope, data: [{ id: 1 }] });
const ends = { signal: new AbortController().signal, hardSignal: new AbortController().signal };
const sent = (sender: Sender) => sender.send({ requestId: "q", runId: "r", stream: "contacts", call }, ends);

test("neither rows nor the bytes for the archive hold what the rules forbid", async () => {
  const sending = await sent(redactingSender(senderOf(answer), redact));
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
