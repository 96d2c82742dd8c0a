// One report of a sync out of its runs.
import { expect, test } from "vitest";
import { type EndedSync, openStreams, outcomeOf } from "../../jobs/publish.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import { problemOf } from "../../src/core/report/problem.ts";
import { aReport } from "../support/reports.ts";

const place = { snapshot: "/data/warehouse.duckdb" };
const ended = (streams: EndedSync["streams"], ...results: EndedSync["results"]): EndedSync => ({
  syncId: "s1",
  full: false,
  streams,
  results,
  problem: null,
});
const outcome = (sync: EndedSync) => outcomeOf(sync, place, 0);

test("a sync of one run ends as the run did, under its own id", () => {
  const credits = { spent: 5, ambiguous: 0, remaining: 95, limit: 100, resets_at: null };
  const report = aReport({ run_id: "r1", requests: 7, credits, streams: ["accounts", "contacts"] });
  const { report: whole, problem } = outcome(ended(["accounts", "contacts"], { report, problem: null }));
  expect(problem).toBeNull();
  expect(whole).toMatchObject({ run_id: "s1", status: "done", requests: 7, credits: { spent: 5, remaining: 95 } });
  expect(whole.streams.map(({ stream }) => stream)).toEqual(["accounts", "contacts"]);
});

test("a sync that went on in a second run adds both up and ends as the second did", () => {
  const first = aReport({ status: "interrupted", streams: ["accounts"] }, "interrupted");
  const second = aReport({ run_id: "s1-2", started_at: "2026-01-01T00:02:00.000Z", streams: ["accounts"] });
  const { report } = outcome(ended(["accounts"], { report: first, problem: null }, { report: second, problem: null }));
  expect(report).toMatchObject({ status: "done", requests: 2, credits: { spent: 2 } });
  expect(report.streams).toMatchObject([{ stream: "accounts", status: "done", requests: 2, pages: 2 }]);
});

test("a stream that failed leaves a partial sync; a spent budget comes before it", () => {
  const failed = aReport({ status: "partial", streams: ["accounts"] }, "failed");
  expect(outcome(ended(["accounts"], { report: failed, problem: null }))).toMatchObject({
    report: { status: "partial" },
    problem: { code: "STREAMS_FAILED" },
  });
  const budget = problemOf(new DuckmirrorError("BUDGET_SPENT", { allowance: 5 }));
  const stopped = aReport({ run_id: "s1-2", status: "stopped", streams: ["contacts"] }, "stopped");
  const both = ended(["accounts", "contacts"], { report: failed, problem: null }, { report: stopped, problem: budget });
  expect(outcome(both)).toMatchObject({ report: { status: "stopped" }, problem: { code: "BUDGET_SPENT" } });
});

test("a sync that never ran is reported by its streams", () => {
  const problem = problemOf(new DuckmirrorError("DISK_FULL", { detail: "no space" }));
  expect(outcome({ ...ended(["accounts"]), problem })).toMatchObject({
    report: {
      status: "failed",
      streams: [{ stream: "accounts", status: "failed", error: "The disk is full: no space" }],
    },
    problem: { code: "DISK_FULL" },
  });
  expect(outcome(ended(["accounts"])).report.status).toBe("interrupted");
});

test("what a run did that was killed before its report is counted by what the mirror knows of it", () => {
  const second = aReport({ run_id: "s1-2", streams: ["accounts", "contacts"] }, "skipped");
  const sync = ended(["accounts", "contacts"], { report: second, problem: null });
  const counts = { inserted: 20, updated: 3, deleted: 2, unchanged: 7, rejected: 1 };
  const traces = [{ run_id: "s1", stream: "accounts", requests: 4, spent: 3, ambiguous: 1, pages: 2, ...counts }];
  const { report } = outcomeOf(sync, { ...place, traces }, 0);
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
  const { report, problem } = outcome({ ...ended(["accounts", "contacts"], broken), problem: late });
  expect(problem).toEqual(late);
  expect(report.status).toBe("stopped");
  expect(report.streams.map(({ status, error }) => [status, error])).toEqual([
    ["stopped", undefined],
    ["stopped", undefined],
  ]);
});

test("a further run reads what is open, and the lists whose work depends on it", () => {
  const all = ["accounts", "contacts", "companies", "filings", "account_insights", "usage"] as const;
  expect(openStreams(all, [])).toEqual([]);
  expect(openStreams(all, ["accounts"])).toEqual(["accounts", "companies", "filings", "account_insights"]);
});
