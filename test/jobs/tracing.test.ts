// What the spans of syncs and verifications say of their ends.
import { expect, test } from "vitest";
import { traceSync, traceVerify } from "../../jobs/engine.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import { recordingTracer } from "../support/recorded-spans.ts";
import { aReport, aStreamReport } from "../support/reports.ts";

const aSpan = () => {
  const { tracer, spans } = recordingTracer();
  const span = tracer.start("job");
  return { span, attributes: spans[0]?.attributes, failures: spans[0]?.failures };
};
const spent = new DuckmirrorError("BUDGET_SPENT", { allowance: 3 });

test("the span of a sync has the sums of its streams, and names those that failed", () => {
  const { span, attributes, failures } = aSpan();
  const streams = [
    aStreamReport("accounts", { inserted: 2, updated: 1 }),
    aStreamReport("signals", { inserted: 3, rejected: 4, status: "failed" }),
  ];
  const report = { ...aReport({ run_id: "run-7" }), streams };
  traceSync(span, report, null);
  expect(attributes).toMatchObject({
    "duckmirror.run.id": "run-7",
    "duckmirror.status": "done",
    "duckmirror.requests": report.requests,
    "duckmirror.credits.spent": report.credits.spent,
    "duckmirror.rows.inserted": 5,
    "duckmirror.rows.updated": 1,
    "duckmirror.rows.rejected": 4,
    "duckmirror.streams": ["accounts", "signals"],
    "duckmirror.streams_failed": ["signals"],
  });
  expect(failures).toEqual([]);
});

test.each([
  ["stopped", spent, "BUDGET_SPENT", []],
  ["failed", new DuckmirrorError("SERVICE_FAILING", { detail: "HTML" }), "SERVICE_FAILING", ["SERVICE_FAILING"]],
  ["partial", null, null, ["STREAMS_FAILED"]],
] as const)("a sync that ended as %s says what ended it, and whether it failed", (status, error, endedBy, failed) => {
  const { span, attributes, failures } = aSpan();
  traceSync(span, aReport({ status }), error);
  expect(attributes?.["duckmirror.ended_by"] ?? null).toBe(endedBy);
  expect(failures).toEqual(failed);
});

test.each([
  ["differences", new DuckmirrorError("VERIFY_DIFFERS", {}), []],
  ["an interruption", new DuckmirrorError("INTERRUPTED", {}), []],
  ["a spent budget", spent, []],
  ["any other error", new DuckmirrorError("CREDENTIALS_REFUSED", {}), ["CREDENTIALS_REFUSED"]],
])("a verification with %s", (_, error, failed) => {
  const { span, attributes, failures } = aSpan();
  const credits = { spent: 2, remaining: 98, limit: 100, resets_at: null };
  traceVerify(span, { run_id: "v-1", credits, checks: [], checks_left: 0, differences: [] }, error);
  expect(attributes).toMatchObject({ "duckmirror.credits.spent": 2, "duckmirror.ended_by": error.code });
  expect(failures).toEqual(failed);
});
