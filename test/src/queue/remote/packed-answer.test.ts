// Answers survive the way through the mailbox: what the loader reads is what a client of its own would have read.
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ApiOutcome } from "../../../../src/api/outcome.ts";
import { createRedactor, type Redactor } from "../../../../src/api/redact.ts";
import { type RawAnswer, readWireAnswer } from "../../../../src/api/wire-answer.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { noteSchema, requestOf } from "../../../../src/queue/remote/messages.ts";
import { packAnswer, packDenial, unpackAnswer } from "../../../../src/queue/remote/packed-answer.ts";
import { aParcel } from "./remote-rig.ts";

const parcel = aParcel("r-1", "r");
const request = requestOf(parcel);
const reading = { limitBytes: 1 << 20, scrub: (text: string) => text };
const RATE = { limit: 10, windowMs: 60_000, remaining: 3, resetsAt: 5_000, retryAt: null };
const SKEW = 250;

const body = (text: string): RawAnswer => ({
  kind: "wire",
  call: parcel.call,
  status: 200,
  sentAt: 1_000 + SKEW,
  durationMs: 20,
  rate: { ...RATE, resetsAt: RATE.resetsAt + SKEW },
  contentEncoding: "",
  bytes: Buffer.from(text),
});

const travel = async (answer: RawAnswer, nth = 1, redact: Redactor | null = null) => {
  const { note, body } = await packAnswer(request, nth, answer, { reading, redact });
  return unpackAnswer({ note: noteSchema.parse(JSON.parse(JSON.stringify(note))), body }, SKEW, reading);
};

test("any body arrives as it would have been read where it came in, on the reader's clock", async () => {
  const envelopes = fc.record({
    data: fc.array(fc.record({ id: fc.integer(), text: fc.string() }), { maxLength: 60 }),
  });
  const bodies = fc.oneof(
    envelopes.map((value) => JSON.stringify(value)),
    fc.string(),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (text) => {
      const here = await readWireAnswer(
        { ...body(text), ...{ kind: "wire", status: 200, contentEncoding: "" }, bytes: Buffer.from(text), rate: RATE },
        reading,
      );
      const there = await travel(body(text));
      if (there.kind !== "outcome") throw new Error("denied");
      const plain = (outcome: ApiOutcome) => {
        const wire = outcome.kind === "ok" || outcome.kind === "invalid" ? outcome.wire : null;
        const bytes = wire === null ? null : wire.encoding === "gzip" ? gunzipSync(wire.bytes) : wire.bytes;
        return { ...outcome, sentAt: 0, wire: bytes?.toString() };
      };
      expect(plain(there.outcome)).toEqual(plain(here));
      expect(there.outcome.sentAt).toBe(1_000);
    }),
  );
});

test("refusals, broken connections and denials arrive with all they say", async () => {
  const refused: RawAnswer = {
    kind: "refused",
    call: parcel.call,
    status: 429,
    sentAt: 1_000 + SKEW,
    durationMs: 5,
    bytes: 3,
    rate: { ...RATE, resetsAt: null, retryAt: 9_000 + SKEW },
    excerpt: "no",
    usage: null,
  };
  expect(await travel(refused)).toMatchObject({ outcome: { status: 429, rate: { retryAt: 9_000 }, sentAt: 1_000 } });
  const broken: RawAnswer = {
    kind: "broken",
    call: parcel.call,
    sentAt: 1_000 + SKEW,
    durationMs: 5,
    reached: "unknown",
    status: 200,
    reason: "too_large",
    detail: "large",
    limitBytes: 7,
  };
  expect(await travel(broken)).toEqual({ kind: "outcome", outcome: { ...broken, sentAt: 1_000 } });
  const { note, body: nothing } = packDenial(request, 0, new DuckmirrorError("BUDGET_SPENT", { allowance: 5 }));
  const denied = await unpackAnswer(
    { note: noteSchema.parse(JSON.parse(JSON.stringify(note))), body: nothing },
    0,
    reading,
  );
  expect(denied).toMatchObject({ kind: "denied", error: { code: "BUDGET_SPENT", context: { allowance: 5 } } });
});

const cutting = createRedactor({
  exclude: [{ table: "accounts", path: ["summary"] }],
  hash: [{ table: "accounts", path: ["name"] }],
  hashOf: () => "f".repeat(64),
  forgotten: () => null,
  anyForgotten: false,
});

test("fields that are excluded or hashed are cut before an answer leaves the fetcher", async () => {
  const answer = body('{"data":[{"id":9007199254740993,"name":"Ann","summary":{"a":1}}],"meta":{}}');
  const { body: packed } = await packAnswer(request, 1, answer, { reading, redact: cutting });
  expect(packed.toString()).toBe(`{"data":[{"id":9007199254740993,"name":"hmac-sha256:${"f".repeat(64)}"}],"meta":{}}`);
  expect(await travel(answer, 1, cutting)).toMatchObject({ kind: "outcome", outcome: { kind: "ok" } });
});

test("a body that cannot be read, and so not cut, stays with the fetcher; its charge is reported", async () => {
  const { body: packed } = await packAnswer(request, 1, body("<p>Ann"), { reading, redact: cutting });
  expect(packed).toHaveLength(0);
  expect(await travel(body("<p>Ann"), 1, cutting)).toMatchObject({
    outcome: { kind: "invalid", status: 200, bytes: 6, wire: null, sentAt: 1_000 },
  });
});
