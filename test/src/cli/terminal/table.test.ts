// Tables: they fit the terminal, cut nothing elsewhere, and let no text steer the terminal.
import fc from "fast-check";
import pc from "picocolors";
import displayWidth from "string-width";
import { describe, expect, test } from "vitest";
import { renderSummary } from "../../../../src/cli/terminal/summary.ts";
import { renderTable, right } from "../../../../src/cli/terminal/table.ts";
import { type StreamReport, type SyncReport, syncReportSchema } from "../../../../src/core/report/sync-report.ts";
import { aReport, aStreamReport } from "../../../support/reports.ts";

const widest = (text: string) => Math.max(...text.split("\n").map(displayWidth));

describe("renderTable", () => {
  test("aligns numbers to the right, sets their thousands apart, and leaves a cell without a value empty", () => {
    const text = renderTable(
      ["name", right("rows")],
      [
        ["a", 1],
        ["bb", 1234],
        [null, null],
      ],
      80,
    );
    expect(text.split("\n")).toEqual([
      "┌──────┬───────┐",
      "│ name │  rows │",
      "├──────┼───────┤",
      "│ a    │     1 │",
      "│ bb   │ 1,234 │",
      "│      │       │",
      "└──────┴───────┘",
    ]);
  });

  test("cuts the widest column first, with a mark, and wide letters by the cells they take", () => {
    const text = renderTable(["id", "headline"], [["17", "漢字".repeat(40)]], 40);
    expect(widest(text)).toBeLessThanOrEqual(40);
    expect(text).toContain("│ 17 │");
    expect(text).toContain("…");
  });

  test.each([
    ["a rare family name", "\u{20bb7}"],
    ["an emoji of several code points", "👩‍👩‍👧"],
    ["a flag", "🇩🇪"],
    ["a pointing hand", "☝️"],
    ["a letter with its accent apart", "e\u0301"],
  ])("%s is cut between characters, by the cells it takes", (_, character) => {
    const text = renderTable(["id", "name"], [["17", character.repeat(60)]], 40);
    expect(new Set(text.split("\n").map(displayWidth)).size).toBe(1);
    expect(widest(text)).toBeLessThanOrEqual(40);
    const kept = text.match(/17 │ (\P{White_Space}+)…/u)?.[1] ?? "";
    expect(kept).toBe(character.repeat(kept.length / character.length));
    expect(displayWidth(kept)).toBeGreaterThan(26);
  });

  test("accents that take no cell of their own do not make a name too long", () => {
    const name = "e\u0301".repeat(20);
    expect(renderTable(["name"], [[name]], 24)).toContain(`│ ${name} │`);
  });

  test("cuts nothing where there is room", () => {
    const long = "x".repeat(5000);
    expect(renderTable(["json"], [[long]], 10_000)).toContain(long);
  });

  test("turns to one block per record where the columns cannot fit", () => {
    const columns = Array.from({ length: 20 }, (_, index) => `column_${index}`);
    const text = renderTable(columns, [columns.map((_, index) => `value ${index}`)], 60);
    expect(text.split("\n").slice(0, 3)).toEqual(["─ 1", "column_0   value 0", "column_1   value 1"]);
  });

  test("shows control characters instead of obeying them", () => {
    const text = renderTable(["name"], [["a\u001b[2Jb\r\nc\td\u0007"]], 80);
    expect(text).toContain("a\\u001b[2Jb↵c d\\u0007");
    expect(text).not.toContain("\u001b");
  });

  test("any text keeps every line as wide as the others and within the terminal", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 60 }), { minLength: 3, maxLength: 3 }), {
          minLength: 1,
          maxLength: 5,
        }),
        fc.integer({ min: 40, max: 200 }),
        (rows, columns) => {
          const lines = renderTable(["a", "b", right("c")], rows, columns).split("\n");
          expect(new Set(lines.map(displayWidth)).size).toBe(1);
          expect(lines.length).toBe(rows.length + 4);
          expect(widest(lines.join("\n"))).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });
});

describe("renderSummary", () => {
  const aStream = aStreamReport("accounts", { requests: 12, credits: 11, pages: 11, inserted: 10_500 });
  const report: SyncReport = {
    ...aReport({}),
    status: "partial",
    finished_at: "2026-01-01T00:01:10.000Z",
    requests: 15,
    credits: { spent: 13, ambiguous: 0, remaining: 4987, limit: 5000, resets_at: "2026-04-01T00:00:00Z" },
    streams: [aStream, { ...aStream, stream: "signals", status: "failed", pages: 2, inserted: 500, error: "HTTP 500" }],
  };
  const summary = (more: Partial<SyncReport> = {}, columns = 200) =>
    renderSummary(syncReportSchema.parse({ ...report, ...more }), { columns, outColours: pc.createColors(false) });

  test("shows streams, totals, what failed, time and credits", () => {
    const text = summary();
    expect(text).toMatch(/│ stream {3}│ mode │ status │ requests │ credits │ pages │ inserted │\n/);
    expect(text).toMatch(/│ accounts │ walk │ done {3}│ +12 │ +11 │ +11 │ +10,500 │/);
    expect(text).toMatch(/│ total {4}│ {6}│ {8}│ +24 │ +22 │ +13 │ +11,000 │/);
    expect(text).toContain("signals: HTTP 500");
    expect(text).toContain("15 requests in 1m 10s · 13 credits spent, 4,987 left of 5,000, reset 2026-04-01 00:00 UTC");
    expect(text).toContain("warehouse: /data/warehouse.duckdb");
  });

  test("gives columns up on a narrow terminal before it cuts the name of a stream", () => {
    const long = aStreamReport("account_insights", { mode: "on-change", unchanged: 7, updated: 3, inserted: 10_500 });
    const text = summary({ streams: [long] }, 80);
    const [, head = ""] = text.split("\n");
    expect(text).toContain("│ account_insights │ done ");
    expect(head).not.toContain("mode");
    expect(Math.max(...text.split("\n").slice(0, 6).map(displayWidth))).toBeLessThanOrEqual(80);
  });

  test.each([
    ["done", "complete"],
    ["stopped", "Stopped before anything was fetched"],
    ["partial", "Nothing could be fetched"],
    ["failed", "failed before anything was fetched"],
    ["interrupted", "Interrupted before anything was fetched"],
  ] as const)("a run that is %s and fetched nothing does not claim that something is committed", (status, says) => {
    const text = summary({ status, streams: [aStreamReport("accounts", { credits: 0, pages: 0 })] });
    expect(text).toContain(says);
    expect(text).not.toContain("committed");
  });

  test.each([
    ["failed", 1, "A check keeps it from readers: the snapshot is as it was."],
    ["broken", null, "committed and published, although some checks could not run."],
  ] as const)("a run with a check that %s blames no stream", (status, failing, says) => {
    const checks: SyncReport["checks"] = [
      { check: "unnamed", severity: "warn", status: "failed", failing: 2 },
      { check: "too-high", severity: "error", status, failing },
    ];
    for (const pages of [0, 2]) {
      const text = summary({ checks, streams: [{ ...aStream, pages }] });
      expect(text).toContain(says);
      expect(text).not.toMatch(/streams failed|Nothing could be fetched/);
    }
    expect(summary({ checks })).toContain("Some streams failed");
  });

  test("a mirror that could not take every record, or is not proven, is not simply called complete", () => {
    const done = (more: Partial<StreamReport>) =>
      summary({ status: "done", streams: [aStreamReport("signals", more)] });
    expect(done({})).toContain("The mirror is complete.\n");
    expect(done({ rejected: 3 })).toContain("The mirror is complete but for 3 records in sync.rejects.\n");
    expect(done({ rejected: 3 })).toContain("signals: some records became no row; table sync.rejects holds them");
    const open = { rejected: 3, complete: false, unconfirmed: 3 };
    expect(done(open)).toContain("The mirror is not proven to be complete: unconfirmed, 3 rows.");
  });

  test("claims nothing about credits the service never reported", () => {
    const credits = { spent: 1, ambiguous: 2, remaining: null, limit: null, resets_at: null };
    expect(summary({ credits })).toContain("· 1 credit spent (up to 2 more: answers lost on the way)\n");
  });
});

test("a table has as many rows as the query: 150,000 are drawn", () => {
  const rows = Array.from({ length: 150_000 }, (_, index) => [String(index), "x"]);
  const lines = renderTable([right("n"), "v"], rows, 80).split("\n");
  expect(lines).toHaveLength(rows.length + 4);
  expect(lines.at(-2)).toBe("│ 149999 │ x │");
});
