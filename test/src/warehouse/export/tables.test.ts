import { expect, test } from "vitest";
import { TABLE_NAMES } from "../../../../src/catalog/tables.ts";
import { copySql, exportTables, fingerprintSql } from "../../../../src/warehouse/export/tables.ts";

const labels = (names: readonly string[], before: readonly string[] = []) =>
  exportTables(names, before).map(({ label }) => label);
const table = (label: string) => {
  const [found] = exportTables([label], []);
  if (found === undefined) throw new TypeError(`no table ${label}`);
  return found;
};
const id = { name: "id", type: "BIGINT" };
const _columns = [
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
