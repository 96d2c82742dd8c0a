// Progress of a run: what a log gets, and what stays quiet.

import pc from "picocolors";
import { describe, expect, test } from "vitest";
import { afterEvent, loggedProgress, noProgress, progressLines } from "../../../../src/cli/terminal/progress.ts";
import type { ProgressEvent } from "../../../../src/core/report/sync-progress.ts";
import { aPage, at, finished } from "./run-events.ts";

// The lines that a terminal shows of a run.

const colours = pc.createColors(false);

/** The run after events that arrive the given seconds after the start. */
const runAfter = (...events: readonly (readonly [number, ProgressEvent])[]) =>
  events.reduce((run, [seconds, event]) => afterEvent(run, event, at + seconds * 1000), noProgress);
const linesOf = (run: ReturnType<typeof runAfter>, columns = 200, now = at) =>
  progressLines(run, now, { columns, colours, timeZone: "UTC" });

describe("the lines of a terminal", () => {
  test("show pages, rows, credits, rate and time left of each stream, and the run's totals", () => {
    const run = runAfter(
      [0, aPage()],
      [12, aPage({ requests: 5, credits: 5, rows: 5000, pagesDone: 5 })],
      [12, aPage({ stream: "signal_counts", rows: 12, pagesTotal: null, rowsTotal: null })],
    );
    expect(linesOf(run)).toEqual([
      "accounts       5/11 pages  5,000/10,500 rows  5 credits  20/min  18s left",
      "signal_counts  1 page  12 rows  1 credit",
      "total          6 requests  5,012 rows  6 credits",
    ]);
  });

  test("show no time left after one page, after pages of one moment, and of a list longer than expected", () => {
    const shown = (...events: readonly (readonly [number, ProgressEvent])[]) => linesOf(runAfter(...events))[0];
    const page = (requests: number, more = {}) => aPage({ requests, pagesDone: requests, pagesTotal: 10, ...more });
    for (const line of [
      shown([0, page(1)]),
      shown([0, page(1)], [0, page(2)]),
      shown([0, page(1)], [1, page(10)]),
      shown([0, page(1, { pagesTotal: null })], [1, page(2, { pagesTotal: null })]),
    ])
      expect(line).not.toContain("left");
    // What was planned counts while the list does not say how long it is; the wait before the first page does not.
    const planned: ProgressEvent = { kind: "stream-planned", stream: "accounts", requests: 3, because: "" };
    const unknown = { pagesTotal: null };
    expect(shown([0, planned], [60, page(1, unknown)], [61, page(2, unknown)])).toContain("60/min  1s left");
  });

  test("say what is waited for and until when, and stop saying so", () => {
    const wait: ProgressEvent = { kind: "waiting", why: "rate", until: at + 271_000, stream: null };
    const retry: ProgressEvent = { kind: "waiting", why: "retry", until: at + 5000, stream: "accounts" };
    const run = runAfter([0, aPage()], [1, wait], [1, retry]);
    expect(linesOf(run)[0]).toContain("waits for retry until 12:00:05");
    expect(linesOf(run)[1]).toContain("waits for rate limit until 12:04:31");
    expect(linesOf(afterEvent(run, { kind: "resumed" }, at)).join()).not.toContain("waits");
    for (const next of [aPage(), finished])
      expect(linesOf(runAfter([0, aPage()], [1, retry], [2, next])).join()).not.toContain("waits");
  });

  test("go on saying what the run waits for when answers to earlier requests come in, until it is over", () => {
    const wait: ProgressEvent = { kind: "waiting", why: "rate", until: at + 6000, stream: null };
    expect(linesOf(runAfter([0, wait], [1, aPage()])).at(-1)).toContain("waits for rate limit until 12:00:06");
    expect(linesOf(runAfter([0, wait], [6, aPage()])).join()).not.toContain("waits");
  });

  test("name the day of a wait that lasts longer", () => {
    const wait: ProgressEvent = { kind: "waiting", why: "quota", until: Date.UTC(2026, 3, 1), stream: null };
    expect(linesOf(runAfter([0, aPage()], [1, wait])).at(-1)).toContain("has no credits left until Apr 1, 00:00");
    // The run ends without them; nothing else is waited for after its end.
    expect(linesOf(runAfter([0, aPage()], [1, wait], [2, finished])).at(-1)).toContain("until Apr 1, 00:00");
    const rate: ProgressEvent = { ...wait, why: "rate" };
    expect(linesOf(runAfter([0, aPage()], [1, rate], [2, finished])).join()).not.toContain("waits");
  });

  test("leave out figures rather than the wait where the terminal is narrow", () => {
    const wait: ProgressEvent = { kind: "waiting", why: "rate", until: at + 6000, stream: null };
    const retry: ProgressEvent = { ...wait, why: "retry", stream: "accounts" };
    const lines = linesOf(runAfter([0, aPage()], [1, wait], [1, retry]), 60);
    expect(lines).toEqual([
      "accounts  1/11 pages  waits for retry until 12:00:06",
      "total     1 request  waits for rate limit until 12:00:06",
    ]);
    expect(Math.max(...linesOf(runAfter([0, aPage()], [1, wait]), 20).map((line) => line.length))).toBeLessThan(20);
  });

  test("count no rows of a stream of single records, which has none", () => {
    const insights = aPage({ stream: "insights", rows: 0, pagesDone: 4, pagesTotal: 40, rowsTotal: null });
    expect(linesOf(runAfter([0, insights]))[0]).toBe("insights  4/40 pages  1 credit");
  });

  test("show what is planned before the first page and what came of a stream after its last", () => {
    const planned = runAfter([0, { kind: "stream-planned", stream: "filings", requests: 40, because: "never synced" }]);
    expect(linesOf(planned)[0]).toBe("filings  40 requests planned");
    expect(linesOf(runAfter([0, aPage()], [1, finished]))[0]).toBe(
      "accounts  done  1/11 pages  1,000/10,500 rows  1 credit  +12 new, 3 changed",
    );
    const nothing = { ...finished, inserted: 0, updated: 0 };
    for (const [more, text] of [
      [{}, "nothing changed"],
      [{ inserted: 1200, rejected: 1 }, "+1,200 new, 1 rejected"],
      [{ updated: 2, deleted: 3 }, "2 changed, 3 deleted"],
    ] as const)
      expect(linesOf(runAfter([0, aPage()], [1, { ...nothing, ...more }]))[0]?.endsWith(`  ${text}`)).toBe(true);
    expect(linesOf(runAfter([0, { ...nothing, status: "skipped" }]))[0]).toBe(
      "accounts  skipped  nothing was requested",
    );
  });

  test("never grow wider than the terminal", () => {
    const run = runAfter(
      [0, aPage()],
      [5, aPage({ requests: 4 })],
      [6, { kind: "waiting", why: "rate", until: at, stream: null }],
    );
    for (const columns of [1, 10, 20, 40, 80]) {
      for (const line of linesOf(run, columns)) expect(line.length).toBeLessThan(Math.max(2, columns));
    }
  });
});

describe("log lines", () => {
  const logged = (format: "json" | "pretty" = "pretty") => {
    const fields: unknown[] = [];
    const lines: string[] = [];
    let now = at;
    const write = (level: string) => (found: unknown, text?: unknown) => {
      fields.push(found);
      lines.push(`${level} ${String(text)}`);
    };
    const log = { info: write("info"), warn: write("warn"), error: write("error") };
    const sink = loggedProgress(log, { now: () => now }, format);
    return { lines, fields, sink, later: (ms: number) => (now += ms) };
  };

  test("name start, plan, end and publish once, and pages at most every ten seconds a stream", () => {
    const { lines, sink, later } = logged();
    sink({ kind: "run-started", runId: "r1", mode: "full", at });
    sink({ kind: "stream-planned", stream: "accounts", requests: null, because: "never synced" });
    for (let page = 1; page <= 25; page++) {
      sink(aPage({ requests: page, pagesDone: page, pagesTotal: 25 }));
      later(1000);
    }
    sink(finished);
    sink({ kind: "published", path: "data/warehouse.duckdb", bytes: 2 ** 20, ms: 250 });
    expect(lines).toEqual([
      "info full sync started",
      "info accounts: planned, because never synced",
      "info accounts: 1/25 pages, 1,000/10,500 rows, 1 credit",
      "info accounts: 11/25 pages, 1,000/10,500 rows, 1 credit, 60/min, 14s left",
      "info accounts: 21/25 pages, 1,000/10,500 rows, 1 credit, 60/min, 4s left",
      "info accounts: done, +12 new, 3 changed",
      "info published data/warehouse.duckdb (1.0 MiB, 0.3s)",
    ]);
  });

  test("carry the event's fields for machines only: for people the text says the same", () => {
    const [people, machines] = [logged("pretty"), logged("json")];
    for (const { sink } of [people, machines]) sink(aPage());
    expect(people.fields).toEqual([{}]);
    expect(machines.fields).toEqual([expect.objectContaining({ stream: "accounts", rows: 1000 })]);
  });

  test("tell failures as errors, warnings as warnings and waits with their end", () => {
    const { lines, sink } = logged();
    sink({ kind: "waiting", why: "rate", until: at + 60_000, stream: null });
    sink({ kind: "note", level: "warn", text: "clamped" });
    const failed = { ...finished, status: "failed", error: "GET /v1/accounts failed: HTTP 500" } as const;
    sink(failed);
    expect(lines).toEqual([
      "info sync waits for rate limit until 12:01:00 UTC",
      "warn clamped",
      "error accounts: failed, GET /v1/accounts failed: HTTP 500",
    ]);
  });
});
