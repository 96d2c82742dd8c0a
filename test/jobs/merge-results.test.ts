// One report of a sync out of its families' runs.
import { expect, test } from "vitest";
import { problemOf } from "../../jobs/family.ts";
import { type FamilyEnd, mergeResults } from "../../jobs/merge-results.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import { aReport } from "../support/reports.ts";

const sync = { syncId: "s1", full: false, snapshot: "/data/warehouse.duckdb" };
const merged = (...families: FamilyEnd[]) => mergeResults(sync, families, 0);
const ended = (streams: FamilyEnd["streams"], ...results: FamilyEnd["results"]): FamilyEnd => ({
  streams,
  results,
  problem: null,
});

test("a run that families shared is counted once", () => {
  const shared = { requests: 7, credits: { spent: 5, ambiguous: 0, remaining: 95, limit: 100, resets_at: null } };
  const { report, problem } = merged(
    ended(["accounts"], { report: aReport({ ...shared, streams: ["accounts"] }), problem: null }),
    ended(["contacts"], { report: aReport({ ...shared, streams: ["contacts"] }), problem: null }),
  );
  expect(problem).toBeNull();
  expect(report).toMatchObject({ run_id: "s1", status: "done", requests: 7, credits: { spent: 5, remaining: 95 } });
  expect(report.streams.map(({ stream }) => stream)).toEqual(["accounts", "contacts"]);
});

test("a sync that went on in a second run adds both up and ends as the second did", () => {
  const first = aReport({ status: "interrupted", streams: ["accounts"] }, "interrupted");
  const second = aReport({ run_id: "s1-2", started_at: "2026-01-01T00:02:00.000Z", streams: ["accounts"] });
  const { report } = merged(ended(["accounts"], { report: first, problem: null }, { report: second, problem: null }));
  expect(report).toMatchObject({ status: "done", requests: 2, credits: { spent: 2 } });
  expect(report.streams).toMatchObject([{ stream: "accounts", status: "done", requests: 2, pages: 2 }]);
});

test("a stream that failed leaves a partial sync; a spent budget comes before it", () => {
  const failed = ended(["accounts"], {
    report: aReport({ status: "partial", streams: ["accounts"] }, "failed"),
    problem: null,
  });
  expect(merged(failed)).toMatchObject({ report: { status: "partial" }, problem: { code: "STREAMS_FAILED" } });
  const budget = problemOf(new DuckmirrorError("BUDGET_SPENT", { allowance: 5 }));
  const stopped = ended(["contacts"], {
    report: aReport({ status: "stopped", streams: ["contacts"] }, "stopped"),
    problem: budget,
  });
  expect(merged(failed, stopped)).toMatchObject({ report: { status: "stopped" }, problem: { code: "BUDGET_SPENT" } });
});

test("a family that never ran is reported by its streams", () => {
  const problem = problemOf(new DuckmirrorError("DISK_FULL", { detail: "no space" }));
  expect(merged({ streams: ["accounts"], results: [], problem })).toMatchObject({
    report: {
      status: "failed",
      streams: [{ stream: "accounts", status: "failed", error: "The disk is full: no space" }],
    },
    problem: { code: "DISK_FULL" },
  });
  expect(merged({ streams: ["accounts"], results: [], problem: null }).report.status).toBe("interrupted");
});

test("what a run did that was killed before its report is counted by what the mirror knows of it", () => {
  const second = aReport({ run_id: "s1-2", streams: ["accounts", "contacts"] }, "skipped");
  const family = ended(["accounts", "contacts"], { report: second, problem: null });
  const counts = { inserted: 20, updated: 3, deleted: 2, unchanged: 7, rejected: 1 };
  const traces = [{ run_id: "s1", stream: "accounts", requests: 4, spent: 3, ambiguous: 1, pages: 2, ...counts }];
  const { report } = mergeResults({ ...sync, traces }, [family], 0);
  const { requests, credits, streams } = second;
  expect(report).toMatchObject({ requests: requests + 4, credits: { spent: credits.spent + 3, ambiguous: 1 } });
  const [accounts] = streams;
  if (accounts === undefined) throw new Error("no report of accounts");
  expect(report.streams).toMatchObject([
    {
      stream: "accounts",
      status: "done",
      requests: accounts.requests + 4,
      credits: accounts.credits + 3,
      pages: accounts.pages + 2,
      inserted: accounts.inserted + 20,
      updated: accounts.updated + 3,
      deleted: accounts.deleted + 2,
      unchanged: accounts.unchanged + 7,
      rejected: accounts.rejected + 1,
    },
    { stream: "contacts", status: "skipped" },
  ]);
});

test("a sync whose time is over is stopped, with what its earlier runs did, and no stream failed", () => {
  const late = problemOf(new DuckmirrorError("DURATION_SPENT"));
  const broken = { report: aReport({ status: "interrupted", streams: ["accounts"] }, "interrupted"), problem: null };
  const { report, problem } = merged(
    { streams: ["accounts"], results: [broken], problem: late },
    { streams: ["contacts"], results: [], problem: late },
  );
  expect(problem).toEqual(late);
  expect(report.status).toBe("stopped");
  expect(report.streams.map(({ status, error }) => [status, error])).toEqual([
    ["stopped", undefined],
    ["stopped", undefined],
  ]);
});
