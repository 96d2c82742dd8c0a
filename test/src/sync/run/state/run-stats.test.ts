// Counts of each stream in a run, and the status that its report names.
import { describe, expect, test } from "vitest";
import type { LedgerStream } from "../../../../../src/catalog/streams.ts";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import { RunStats } from "../../../../../src/sync/run/state/run-stats.ts";
import type { RequestRecord } from "../../../../../src/warehouse/record/checkpoint.ts";
import { aRequest } from "../../../warehouse/checkpoints.ts";

const failure = new DuckmirrorError("SERVICE_FAILING");
const request = (stream: LedgerStream, more: Partial<RequestRecord> = {}): RequestRecord =>
  aRequest("q", { stream, rows: 5, ...more });

test("each attempt is a request; only an answer without an error is a page, and only a charge a credit", () => {
  const stats = new RunStats();
  stats.countRequests([
    request("accounts"),
    request("accounts", { error: "RESPONSE_INVALID", rows: 0 }),
    request("accounts", { error: "RESPONSE_INVALID", rows: 0 }),
    request("accounts", { status: 503, charge: "free", rows: 0 }),
    request("accounts", { status: null, charge: "ambiguous", rows: 0 }),
    request("signals"),
  ]);
  expect(stats.of("accounts")).toMatchObject({ requests: 5, credits: 3, ambiguous: 1, pages: 1, rows: 5 });
  expect(stats.totals()).toEqual({ requests: 6, credits: 4, ambiguous: 1 });
});

test("records that a strict table did not take are rejected ones, too", () => {
  const stats = new RunStats();
  const counts = { inserted: 1, updated: 2, unchanged: 3, rejected: 4 };
  stats.countLoad("accounts", counts);
  stats.countLoad("accounts", { ...counts, misfits: 5 });
  expect(stats.of("accounts")).toMatchObject({ inserted: 2, updated: 4, unchanged: 6, rejected: 13 });
});

describe("the status of a stream", () => {
  const statusOf = (change: (stats: RunStats) => void, ended: "done" | "stopped" = "stopped") => {
    const stats = new RunStats();
    change(stats);
    return stats.reports(["accounts"], ended, new Map())[0]?.status;
  };

  test.each<[string, Parameters<typeof statusOf>[0], string]>([
    ["nothing was due", () => undefined, "skipped"],
    ["it was read", (stats) => stats.addMode("accounts", "walk"), "done"],
    ["its requests were refused", (stats) => stats.countRequests([request("accounts")]), "done"],
    ["work of it was left", (stats) => stats.leave("accounts"), "stopped"],
    ["it failed", (stats) => [stats.fail("accounts", failure), stats.leave("accounts")], "failed"],
  ])("if %s", (_, change, status) => {
    expect(statusOf(change)).toBe(status);
  });

  test("of a run that did all of its work is done, whatever was left on the way", () => {
    const change = (stats: RunStats) => {
      stats.countRequests([request("accounts")]);
      stats.leave("accounts");
    };
    expect(statusOf(change, "done")).toBe("done");
  });
});

test("a report names every strategy once, in order, and the failure", () => {
  const stats = new RunStats();
  for (const mode of ["watermark", "walk", "walk"]) stats.addMode("accounts", mode);
  expect([stats.fail("accounts", failure), stats.fail("accounts", new DuckmirrorError("QUOTA_SPENT"))]).toEqual([
    true,
    false,
  ]);
  const [report, other] = stats.reports(["accounts", "signals"], "done", new Map());
  expect(report).toMatchObject({
    mode: "walk+watermark",
    error: `${failure.code}: ${failure.message}`,
    complete: false,
  });
  expect(other).toMatchObject({ stream: "signals", mode: "none" });
  expect(other).not.toHaveProperty("error");
});
