// How a run ended.
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { endOfWork, untilReset } from "../../../../src/sync/run/finish-run.ts";

test("a failed stream leaves a partial run, also where a budget left work out", () => {
  expect(endOfWork(["accounts", "filings"], ["walks"])).toMatchObject({
    status: "partial",
    error: { code: "STREAMS_FAILED", context: { streams: "accounts, filings" } },
  });
});

test("a budget that left work out stops the run; else all due work is done", () => {
  expect(endOfWork([], ["walks", "content"])).toMatchObject({
    status: "stopped",
    error: { code: "BUDGET_REACHED", context: { budgets: "walks, content" } },
  });
  expect(endOfWork([], [])).toEqual({ status: "done", error: null });
});

test("a run without credits says when the period ends, and how certain that is", () => {
  const spent = new DuckmirrorError("QUOTA_SPENT");
  const at = Date.UTC(2026, 11, 1);
  expect(untilReset(spent, at, "own").context.until).toBe(" until 2026-12-01T00:00:00.000Z");
  expect(untilReset(spent, at, "earlier").context.until).toMatch(/^; by its last report the period ends at 2026-12-01/);
});

test("a time that the refusal itself named stays", () => {
  const named = new DuckmirrorError("QUOTA_SPENT", { until: " until noon" });
  expect(untilReset(named, 0, "own")).toBe(named);
});
