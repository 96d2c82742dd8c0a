// Cells as lines of COPY text, written by DuckDB.
import { expect, test } from "vitest";
import { lineSql, postgresType, rowLineSql } from "../../../../../src/deliver/kinds/postgres/statements.ts";
import { openDatabase } from "../../../../../src/warehouse/duckdb/database.ts";
import { forFile } from "../../../../support/for-file.ts";

const database = await forFile(openDatabase(":memory:", { threads: 1 }));

const line = async (...cells: readonly (readonly [sql: string, type: string])[]) => {
  const [row] = await database.cells(`SELECT ${lineSql(cells.map(([sql, type]) => ({ sql, type })))}`, []);
  return row?.[0];
};

test("signs with a meaning in COPY text are written so that they arrive as they are", async () => {
  expect(await line(["'a' || chr(9) || chr(10) || chr(13) || chr(92) || 'N'", "VARCHAR"])).toBe("a\\t\\n\\r\\\\N");
  expect(await line(["'a' || chr(0) || 'b'", "VARCHAR"])).toBe("a\uFFFDb");
});

test("NULL is not an empty text, and cells are parted by tabs", async () => {
  expect(await line(["NULL", "VARCHAR"], ["''", "VARCHAR"], ["7", "BIGINT"])).toBe("\\N\t\t7");
});

test("lists are arrays of Postgres, with quotes, backslashes, NULL and the text NULL told apart", async () => {
  expect(await line([`['a "b"', chr(92), NULL, 'NULL', '']`, "VARCHAR[]"])).toBe(
    String.raw`{"a \\"b\\"","\\\\",NULL,"NULL",""}`,
  );
  expect(await line(["[]::VARCHAR[]", "VARCHAR[]"])).toBe("{}");
});

test("years before Christ are written as Postgres reads them, and earlier than it knows is -infinity", async () => {
  const time = (text: string): [string, string] => [`TIMESTAMPTZ '${text}'`, "TIMESTAMP WITH TIME ZONE"];
  await database.run("SET TimeZone = 'UTC'");
  expect(await line(time("2026-01-02 03:04:05.123456+00"))).toBe("2026-01-02 03:04:05.123456+00");
  expect(await line(time("0044-03-15 (BC) 00:00:00+00"))).toBe("0044-03-15 00:00:00+00 BC");
  expect(await line(time("5000-01-01 (BC) 00:00:00+00"))).toBe("-infinity");
});

test("a row's line has its columns in order, quoted", async () => {
  await database.run(`CREATE TABLE odd ("a""b" VARCHAR, n BIGINT); INSERT INTO odd VALUES ('x', 3)`);
  const columns = [
    { name: "n", type: "BIGINT" },
    { name: 'a"b', type: "VARCHAR" },
  ];
  expect(await database.cells(`SELECT ${rowLineSql(columns)} FROM odd AS t`, [])).toEqual([["3\tx"]]);
});

test("JSON keeps its text, large numbers their digits, and an unknown type is text", () => {
  expect(["JSON", "HUGEINT", "VARCHAR[]", "UUID"].map(postgresType)).toEqual(["json", "numeric", "text[]", "text"]);
});
