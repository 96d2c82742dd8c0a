// Requests for a sync: what is stored of one, what is refused, and its digest.
import { expect, test } from "vitest";
import type { TriggerRequest } from "../../../../src/core/report/triggers.ts";
import { readability } from "../../../../src/queue/requests/job-payloads.ts";
import { covers, requestDigest, tracedTriggers } from "../../../../src/queue/requests/sync-requests.ts";
import { recordingTracer } from "../../../support/recorded-spans.ts";
import { anAsk, syncOf } from "./a-sync-request.ts";

// Spans of requests for syncs: the sync's own spans belong to them.

const started = { runId: "run-1", joined: true };
/** Triggers that note the trace of each request. */
const noting = (asked: unknown[]) => ({
  start: async ({ traceparent }: TriggerRequest) => {
    asked.push(traceparent);
    return started;
  },
});

test("the sync gets the span of its request as parent, and the span gets the caller's", async () => {
  const { tracer, spans } = recordingTracer();
  const asked: unknown[] = [];
  const triggers = tracedTriggers(noting(asked), tracer);
  expect(await triggers.start(anAsk({ profile: "north", traceparent: "caller" }))).toEqual(started);
  expect(asked).toEqual(["span"]);
  expect(spans).toMatchObject([
    {
      start: { kind: "producer", traceparent: "caller" },
      attributes: { "duckmirror.profile": "north", "duckmirror.run.id": "run-1", "duckmirror.joined": true },
      ended: true,
    },
  ]);
});

test("without tracing here, the caller's trace goes on to the sync", async () => {
  const asked: unknown[] = [];
  const triggers = tracedTriggers(noting(asked));
  await triggers.start(anAsk({ traceparent: "caller" }));
  expect(asked).toEqual(["caller"]);
});

test("a refused request is a failed span, and its error is the caller's", async () => {
  const { tracer, spans } = recordingTracer();
  const refused = tracedTriggers({ start: (_: TriggerRequest) => Promise.reject(new TypeError("no")) }, tracer);
  await expect(refused.start(anAsk({}))).rejects.toThrow("no");
  expect(spans).toMatchObject([{ failures: ["TypeError"], ended: true }]);
});

test("what else the triggers can do stays as it is", () => {
  const cancel = async () => true;
  expect(tracedTriggers({ start: async (_: TriggerRequest) => started, cancel }).cancel).toBe(cancel);
});

// Which requests a queued sync covers.

test.each<[string, Partial<TriggerRequest>, Partial<TriggerRequest>, boolean]>([
  ["all that is due covers a stream of it", {}, { streams: ["signals"] }, true],
  ["what is due does not cover a list anew", {}, { reset: ["signals"] }, false],
  ["nor does a complete walk", { full: true }, { reset: ["signals"] }, false],
  ["a list anew covers nothing that is due", { reset: ["signals"] }, { streams: ["signals"] }, false],
  ["a list anew covers itself", { reset: ["signals", "accounts"] }, { reset: ["signals"] }, true],
  ["a stream anew covers one list of it", { reset: ["filings"] }, { reset: ["filings:7"] }, true],
  ["one list of a stream does not cover the stream", { reset: ["filings:7"] }, { reset: ["filings"] }, false],
  ["an earlier day covers a later one", { since: "2026-11-01" }, { since: "2026-11-02", streams: ["signals"] }, true],
  ["a later day covers no earlier one", { since: "2026-11-02" }, { since: "2026-11-01" }, false],
  ["another stream is not covered", { since: "2026-11-01", streams: ["signals"] }, { since: "2026-11-01" }, false],
  ["what is due does not cover a day", {}, { since: "2026-11-01" }, false],
  ["a day covers nothing that is due", { since: "2026-11-01" }, { streams: ["signals"] }, false],
])("%s", (_, sync, other, expected) => {
  expect(covers(syncOf(sync), syncOf(other))).toBe(expected);
});

test.each<[Partial<TriggerRequest>, string]>([
  [{ reset: ["signal"] }, "--reset signal: signal is not a stream. Did you mean signals?"],
  [{ reset: ["signals"], streams: ["accounts"] }, "--reset already names its streams: leave out the other ones"],
  [
    { reset: ["signals"], since: "2026-11-01" },
    "--since reads a part of a list, so it cannot be combined with --full or --reset",
  ],
  [{ since: "soon" }, '--since: "soon" is not a date like 2026-11-01'],
  [{ since: "2026-11-01", streams: ["accounts"] }, "accounts"],
])("refused as by sync: %o", (ask, message) => {
  expect(() => syncOf(ask)).toThrow(message);
});

test("a sync of all that is due names no part", () => {
  const { since: plain, ...rest } = syncOf({ full: true });
  expect([plain, "reset" in rest, "datedAfter" in rest]).toEqual([1, false, false]);
  expect(syncOf({ reset: ["signals"] })).toMatchObject({ streams: ["signals"], reset: ["signals"] });
  const dated = syncOf({ since: "2026-11-01" });
  expect(dated).toMatchObject({ streams: ["contacts", "signals"], datedAfter: "2026-11-01" });
  expect(readability(dated)).toBe("readable");
});

test("the digest of a request knows lists and days, whatever their order", () => {
  const digest = (more: Partial<TriggerRequest>) => requestDigest(anAsk(more));
  const reset = digest({ reset: ["signals", "accounts"] });
  expect(new Set([digest({}), reset, digest({ reset: ["signals"] }), digest({ since: "2026-11-01" })]).size).toBe(4);
  expect(digest({ reset: ["accounts", "signals", "signals"] })).toBe(reset);
  expect(digest({ reset: [], since: undefined })).toBe(digest({}));
});
