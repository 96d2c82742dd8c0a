// Spans of requests for syncs: the sync's own spans belong to them.
import { expect, test } from "vitest";
import type { SyncAsk } from "../../../../src/core/report/triggers.ts";
import type { Span, SpanStart, Tracer } from "../../../../src/core/tracing.ts";
import { tracedTriggers } from "../../../../src/queue/asking/traced-triggers.ts";
import { anAsk } from "./an-ask.ts";

const started = { runId: "run-1", joined: true };
/** Triggers that note the trace of each request. */
const noting = (asked: unknown[]) => ({
  start: async ({ traceparent }: SyncAsk) => {
    asked.push(traceparent);
    return started;
  },
});
const aTracer = (traceparent: string | null) => {
  const starts: (SpanStart & { readonly name: string })[] = [];
  const noted: unknown[] = [];
  const tracer: Tracer = {
    traceparent: null,
    start: (name, more = {}) => {
      starts.push({ name, ...more });
      const span: Span = {
        start: tracer.start,
        traceparent,
        set: (attributes) => void noted.push(attributes),
        fail: (errorType) => void noted.push(errorType),
        end: () => void noted.push("end"),
      };
      return span;
    },
  };
  return { tracer, starts, noted };
};

test("the sync gets the span of its request as parent, and the span gets the caller's", async () => {
  const { tracer, starts, noted } = aTracer("span");
  const asked: unknown[] = [];
  const triggers = tracedTriggers(noting(asked), tracer);
  expect(await triggers.start(anAsk({ profile: "north", traceparent: "caller" }))).toEqual(started);
  expect(asked).toEqual(["span"]);
  expect(starts).toMatchObject([
    { kind: "producer", traceparent: "caller", attributes: { "duckmirror.profile": "north" } },
  ]);
  expect(noted).toEqual([{ "duckmirror.run.id": "run-1", "duckmirror.joined": true }, "end"]);
});

test("without tracing here, the caller's trace goes on to the sync", async () => {
  const asked: unknown[] = [];
  const triggers = tracedTriggers(noting(asked));
  await triggers.start(anAsk({ traceparent: "caller" }));
  expect(asked).toEqual(["caller"]);
});

test("a refused request is a failed span, and its error is the caller's", async () => {
  const { tracer, noted } = aTracer("span");
  const refused = tracedTriggers({ start: (_: SyncAsk) => Promise.reject(new TypeError("no")) }, tracer);
  await expect(refused.start(anAsk({}))).rejects.toThrow("no");
  expect(noted).toEqual(["TypeError", "end"]);
});

test("what else the triggers can do stays as it is", () => {
  const cancel = async () => true;
  expect(tracedTriggers({ start: async (_: SyncAsk) => started, cancel }).cancel).toBe(cancel);
});
