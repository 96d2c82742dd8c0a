import { describe, expect, test } from "vitest";
import { noteSync, noteVerify } from "../../jobs/engine.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import type { Span, SpanAttributes } from "../../src/core/tracing.ts";
import { aReport, aStreamReport } from "../support/reports.ts";

/** A span that keeps what is said of it. */
const aSpan = () => {
  const attributes: Record<string, SpanAttributes[string]> = {};
  const failures: (string | null)[] = [];
  const span: Span = {
    start: () => span,
    traceparent: null,
    set: (more) => void Object.assign(attributes, more),
    fail: (errorType) => void failures.push(errorType),
    end: () => undefined,
  };
  return { span, attributes, failures };
};

describe("the span of a sync", () => {
  test("has the sums of its streams, and names those that failed", () => {
    const { span, attributes, failures } = aSpan();
    const streams = [
      aStreamReport("accounts", { inserted: 2, updated: 1 }),
      aStreamReport("signals", { inserted: 3, rejected: 4, status: "failed" }),
    ];
    noteSync(span, { ...aReport({ run_id: "run-7" }), streams }, null);
    expect(attributes).toMatchObject({
      "duckmirror.run.id": "run-7",
      "duckmirror.rows.inserted": 5,
      "duckmirror.rows.updated": 1,
      "duckmirror.rows.rejected": 4,
      "duckmirror.streams": ["accounts", "signals"],
      "duckmirror.streams_failed": ["signals"],
    });
    expect(failures).toEqual([]);
  });

  test("that a budget ended is no failure, and says what ended it", () => {
    const { span, attributes, failures } = aSpan();
    noteSync(span, aReport({ status: "stopped" }), new DuckmirrorError("BUDGET_SPENT", { allowance: 3 }));
    expect(attributes["duckmirror.ended_by"]).toBe("BUDGET_SPENT");
    expect(failures).toEqual([]);
  });

  test.each(["failed", "partial"] as const)("that ended as %s is a failure by its code", (status) => {
    const { span, failures } = aSpan();
    noteSync(span, aReport({ status }), new DuckmirrorError("SERVICE_FAILING", { detail: "HTML" }));
    noteSync(span, aReport({ status }), null);
    expect(failures).toEqual(["SERVICE_FAILING", "STREAMS_FAILED"]);
  });
});

describe("the span of a verification", () => {
  const report = {
    run_id: "v-1",
    credits: { spent: 2, remaining: 98, limit: 100, resets_at: null },
    checks: [],
    checks_left: 0,
    differences: [],
  };

  test.each([
    ["differences", new DuckmirrorError("VERIFY_DIFFERS", {})],
    ["an interruption", new DuckmirrorError("INTERRUPTED", {})],
    ["a spent budget", new DuckmirrorError("BUDGET_SPENT", { allowance: 3 })],
  ])("does not fail because of %s", (_, error) => {
    const { span, attributes, failures } = aSpan();
    noteVerify(span, report, error);
    expect(attributes).toMatchObject({ "duckmirror.credits.spent": 2, "duckmirror.ended_by": error.code });
    expect(failures).toEqual([]);
  });

  test("fails by the code of any other error", () => {
    const { span, failures } = aSpan();
    noteVerify(span, report, new DuckmirrorError("CREDENTIALS_REFUSED", {}));
    expect(failures).toEqual(["CREDENTIALS_REFUSED"]);
  });
});
