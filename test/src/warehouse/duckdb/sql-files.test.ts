// The .sql files of the package.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { migration, readMigrations, sqlText } from "../../../../src/warehouse/duckdb/sql-files.ts";

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
  expect(numbers.length).toBeGreaterThan(5);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});

test("a statement is read by its path; one that does not exist throws", () => {
  expect(sqlText("server/checked.sql")).toMatch(/SELECT/);
  expect(() => sqlText("server/no-such.sql")).toThrow(/ENOENT/);
});
