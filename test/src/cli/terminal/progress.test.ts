// Progress of a run: what a log gets, and what stays quiet.
import { describe, expect, test } from "vitest";
import { createLoggedProgress } from "../../../../src/cli/terminal/progress.ts";
import { aPage, at, finished } from "./run-events.ts";

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
    const progress = createLoggedProgress(log, { now: () => now }, format);
    return { lines, fields, sink: progress.sink, later: (ms: number) => (now += ms) };
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
