import { expect, test } from "vitest";
import { TABLE_NAMES } from "../../../../src/catalog/tables.ts";
import { cellsSql, copySql, exportTables, fingerprintSql } from "../../../../src/warehouse/export/tables.ts";

const labels = (names: readonly string[], before: readonly string[] = []) =>
  exportTables(names, before).map(({ label }) => label);
const table = (label: string) => {
  const [found] = exportTables([label], []);
  if (found === undefined) throw new TypeError(`no table ${label}`);
  return found;
};
const id = { name: "id", type: "BIGINT" };
const columns = [
  id,
  { name: "title", type: "VARCHAR" },
  { name: "tags", type: "VARCHAR[]" },
  { name: "_extra", type: "JSON" },
  { name: "date", type: "TIMESTAMP WITH TIME ZONE" },
];

test("without names the tables of main are exported, and those that the folder holds already, each once", () => {
  expect(labels([])).toEqual([...TABLE_NAMES]);
  expect(labels([], ["history.signals", "signals", "gone_since"])).toEqual([...TABLE_NAMES, "history.signals"]);
});

test("a name is a table, with main. or without, or a whole schema; an unknown one is refused with the nearest", () => {
  expect(labels(["main.signals", "signals"])).toEqual(["signals"]);
  expect(labels(["history"])).toHaveLength(TABLE_NAMES.length);
  expect(labels(["marts.freshness", "filings"])).toEqual(["filings", "marts.freshness"]);
  expect(() => labels(["signal"])).toThrow(/no table signal\. Did you mean signals\?/);
});

test("rows are sorted by what readers filter by, then by the key", () => {
  const { orderBy } = table("signals");
  expect(orderBy).toEqual(["account_id", "date", "id"]);
  expect(table("filings").orderBy).toEqual(["company_id", "filing_date", "id"]);
  expect(copySql(table("usage_limits"), [id], { month: null }, { format: "csv", guardFormulas: false })).toContain(
    'ORDER BY "captured_at"',
  );
  expect(copySql(table("marts.freshness"), [id], { month: null }, { format: "csv", guardFormulas: false })).toContain(
    "ORDER BY ALL",
  );
});

test("Parquet keeps types, but JSON is text, because not every reader knows Parquet's JSON", () => {
  expect(cellsSql(columns, { format: "parquet", guardFormulas: true })).toBe(
    '"id", "title", "tags", CAST("_extra" AS VARCHAR) AS "_extra", "date"',
  );
});

test("in CSV, times are ISO in UTC, lists are JSON, and only text is guarded against formulas, if so configured", () => {
  const [plainId, title, tags, , date] = cellsSql(columns, { format: "csv", guardFormulas: false }).split(
    /, (?=")|, (?=C)|, (?=s)/,
  );
  expect([plainId, title, tags]).toEqual([
    '"id"',
    'CAST("title" AS VARCHAR) AS "title"',
    'CAST(to_json("tags") AS VARCHAR) AS "tags"',
  ]);
  expect(date).toContain("AT TIME ZONE 'UTC'");
  const guarded = cellsSql(columns, { format: "csv", guardFormulas: true });
  expect(guarded.match(/CASE WHEN regexp_matches/g)).toHaveLength(3);
  expect(cellsSql([id], { format: "csv", guardFormulas: true })).toBe('"id"');
  expect(cellsSql(columns, { format: "ndjson", guardFormulas: true })).not.toContain("regexp_matches");
});

test("a part holds one month, from its first microsecond to before the next, also over the end of a year", () => {
  const part = (month: string | null) =>
    copySql(table("signals"), [id], { month }, { format: "parquet", guardFormulas: false });
  const micros = (year: number, month: number) => Date.UTC(year, month, 1) * 1000;
  expect(part("2025-12")).toContain(
    `"date" >= make_timestamptz(${micros(2025, 11)}) AND "date" < make_timestamptz(${micros(2026, 0)})`,
  );
  expect(part("0099-01")).toContain(`make_timestamptz(${new Date("0099-01-01T00:00:00Z").getTime() * 1000})`);
  expect(part("none")).toContain('("date" IS NULL OR NOT isfinite("date"))');
  expect(part(null)).toContain("AND true ORDER BY");
});

test("a fingerprint covers what identifies a version, without columns that an older snapshot lacks", () => {
  const all = ["id", "_synced_at", "_run_id", "_in_scope", "title"].map((name) => ({ name, type: "VARCHAR" }));
  expect(fingerprintSql(table("signals"), all)).toContain('hash("id", "_synced_at", "_run_id", "_in_scope")');
  expect(fingerprintSql(table("signals"), all.slice(0, 3))).toContain('hash("id", "_synced_at", "_run_id")');
  expect(fingerprintSql(table("marts.freshness"), all)).toContain(
    'hash("id", "_synced_at", "_run_id", "_in_scope", "title")',
  );
  expect(fingerprintSql(table("history.signals"), all)).toContain('"valid_to" >= $1');
  expect(fingerprintSql(table("sync.runs"), all)).toContain("$1 IS NULL OR true");
});
