// The .sql files of the package.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { TABLE_NAMES } from "../../../../src/catalog/tables.ts";
import { migration, readMigrations, sqlText, writtenOut } from "../../../../src/warehouse/duckdb/sql-files.ts";

test("a migration's number is in its name, and its checksum is that of its text", () => {
  const checksum = createHash("sha256").update("SELECT 1").digest("hex");
  expect(migration("0012_more.sql", "SELECT 1")).toMatchObject({ number: 12, checksum });
});

test.each(["12_more.sql", "0012.sql", "0012_More.sql", "0012_more.txt", "x0012_more.sql"])(
  "%s is no migration's name",
  (name) => {
    expect(() => migration(name, "")).toThrow(name);
  },
);

test("the program's migrations are numbered without a gap", () => {
  const numbers = readMigrations().map(({ number }) => number);
  expect(numbers.length).toBeGreaterThan(0);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});

test("a statement is read by its path; one that does not exist throws", () => {
  expect(sqlText("server/checked.sql")).toMatch(/SELECT/);
  expect(() => sqlText("server/no-such.sql")).toThrow(/ENOENT/);
});

test("a part that repeats for each table is written out from the catalog; an unknown kind throws", () => {
  const text =
    "WITH t AS (\n  -- each table (all), joined by UNION ALL\n  SELECT '{table}', '{stream}', {place}\n  -- end\n)";
  const lines = writtenOut(text).split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "WITH t AS (",
    "  SELECT 'accounts', 'accounts', 0",
    "UNION ALL",
    "  SELECT 'owners', 'accounts', 1",
  ]);
  expect(lines).toHaveLength(2 + 2 * TABLE_NAMES.length - 1);
  expect(() => writtenOut(text.replace("(all)", "(none)"))).toThrow("no kind of tables: none");
});
