// Counts of each stream in a run, and the status that its report names.
import { describe, expect, test } from "vitest";
import type { LedgerStream } from "../../../../../src/catalog/streams.ts";
import { createRunStats } from "../../../../../src/sync/run/state/run-stats.ts";
import type { RequestRecord } from "../../../../../src/warehouse/record/checkpoint.ts";
import { aRequest } from "../../../warehouse/checkpoints.ts";

const request = (stream: LedgerStream, more: Partial<RequestRecord> = {}): RequestRecord =>
  aRequest("q", { stream, rows: 5, ...more });

test("each attempt is a request; only an answer without an error is a page, and only a charge a credit", () => {
  const stats = createRunStats();
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
  const stats = createRunStats();
  const counts = { inserted: 1, updated: 2, unchanged: 3, rejected: 4 };
  stats.countLoad("accounts", counts);
  stats.countLoad("accounts", { ...counts, misfits: 5 });
  expect(stats.of("accounts")).toMatchObject({ inserted: 2, updated: 4, unchanged: 6, rejected: 13 });
});

describe("the status of a stream", () => {
  const statusOf = (
    change: (stats: ReturnType<typeof createRunStats>) => void,
    ended: "done" | "stopped" = "stopped",
  ) => {
    const stats = createRunStats();
    change(stats);
    return stats.reports(["accounts"], ended, new Map())[0]?.status;
  };

  test.each<[string, Parameters<typeof statusOf>[0], string]>([
    ["nothing was due", () => undefined, "skipped"],
    ["it was read", (stats) => stats.of("accounts").modes.add("walk"), "done"],
    ["its requests were refused", (stats) => stats.countRequests([request("accounts")]), "done"],
    ["work of it was left", (stats) => Object.assign(stats.of("accounts"), { left: true }), "stopped"],
    ["it failed", (stats) => Object.assign(stats.of("accounts"), { failed: "X", left: true }), "failed"],
  ])("if %s", (_, change, status) => {
    expect(statusOf(change)).toBe(status);
  });

  test("of a run that did all of its work is done, whatever was left on the way", () => {
    expect(statusOf((stats) => void Object.assign(stats.of("accounts"), { left: true, requests: 1 }), "done")).toBe(
      "done",
    );
  });
});

test("a report names every strategy once, in order, and the failure", () => {
  const stats = createRunStats();
  for (const mode of ["watermark", "walk", "walk"]) stats.of("accounts").modes.add(mode);
  stats.of("accounts").failed = "X: y";
  const [report, other] = stats.reports(["accounts", "signals"], "done", new Map());
  expect(report).toMatchObject({ mode: "walk+watermark", error: "X: y", complete: false });
  expect(other).toMatchObject({ stream: "signals", mode: "none" });
  expect(other).not.toHaveProperty("error");
});
