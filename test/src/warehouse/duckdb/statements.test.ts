// Statements on one connection: values bound with the type of their column, what comes back of each, rows changed and appended, and
// ranges of row ids: they cover every row, and a gap between them is worth a scan of its own.
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  HUGEINT,
  INTEGER,
  LIST,
  listValue,
  SQLNULL,
  TIMESTAMPTZ,
  VARCHAR,
} from "@duckdb/node-api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { rangesOf } from "../../../../src/warehouse/duckdb/row-ranges.ts";
import { instant, toDuck } from "../../../../src/warehouse/duckdb/statements.ts";
import { forFile } from "../../../support/for-file.ts";

const database = await forFile(openDatabase(":memory:", { threads: 1 }));
const anyRow = z.record(z.string(), z.unknown());

test("values are bound, whatever is in them", async () => {
  const params = ["'; DROP TABLE x; --", 2 ** 53, instant(5), ["a", null]];
  const [row] = await database.query("SELECT $1 AS a, $2 AS b, $3 AS c, $4 AS d", params, anyRow);
  expect(row).toEqual({ a: params[0], b: 2 ** 53, c: 5, d: ["a", null] });
});

test("a row that its schema does not take is refused", async () => {
  await expect(database.query("SELECT 'x' AS n", [], z.object({ n: z.number() }))).rejects.toThrow();
});

test("rows that a statement changed are counted, and several statements run without parameters", async () => {
  await database.run("CREATE TABLE t (id INTEGER, name VARCHAR); INSERT INTO t VALUES (1, 'a'), (2, 'b')");
  expect(await database.run("UPDATE t SET name = $1 WHERE id < 3", ["c"])).toBe(2);
  expect(await database.run("DELETE FROM t WHERE id = 9")).toBe(0);
});

test("appended rows belong to their transaction", async () => {
  const more = [
    [3, "d"],
    [4, null],
    [5, "e"],
  ];
  const rows = () => database.cells("SELECT id, name FROM t WHERE id > 2 ORDER BY id", []);
  const failing = database.transaction(async (tx) => {
    await tx.append("main.t", [INTEGER, VARCHAR], more);
    throw new Error("undone");
  });
  await expect(failing).rejects.toThrow("undone");
  expect(await rows()).toEqual([]);
  await database.transaction((tx) => tx.append("t", [INTEGER, VARCHAR], more));
  expect(await rows()).toEqual(more);
});

test("more rows than DuckDB takes at once are appended in order, none lost and none twice", async () => {
  const ids = Array.from({ length: 5000 }, (_, row) => [row]);
  await database.run("CREATE TABLE many (id INTEGER)");
  await database.append("many", [INTEGER], ids);
  await database.append("many", [INTEGER], []);
  expect(await database.cells("SELECT id FROM many ORDER BY rowid", [])).toEqual(ids);
});

// Parameters in the form of DuckDB's client.

const BIG = 2n ** 63n;

test.each([
  [null, null, SQLNULL],
  ["x", "x", VARCHAR],
  [true, true, BOOLEAN],
  [7, 7n, BIGINT],
  [-0, 0n, BIGINT],
  [7.5, 7.5, DOUBLE],
  [2 ** 53, 2 ** 53, DOUBLE],
  [Number.NaN, Number.NaN, DOUBLE],
  [BIG - 1n, BIG - 1n, BIGINT],
  [-BIG, -BIG, BIGINT],
  [BIG, BIG, HUGEINT],
  [-BIG - 1n, -BIG - 1n, HUGEINT],
])("%s", (value, bound, type) => {
  expect(toDuck(value)).toEqual({ value: bound, type });
});

test("texts are a list, and a point in time keeps its microseconds", () => {
  expect(toDuck(["a", null])).toEqual({ value: listValue(["a", null]), type: LIST(VARCHAR) });
  const { value, type } = toDuck(instant(1_700_000_000_000.123));
  expect(type).toBe(TIMESTAMPTZ);
  expect(value).toMatchObject({ micros: 1_700_000_000_000_123n });
  expect(instant(null)).toBeNull();
});

test("every row lies in one range, each range begins and ends with a row, and large gaps lie between them", () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: 0n, max: 10_000_000n }), { maxLength: 300 }), (rows) => {
      const sorted = [...rows].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
      const ranges = rangesOf(sorted);
      for (const row of sorted) expect(ranges.filter(({ from, to }) => row >= from && row <= to)).toHaveLength(1);
      for (const { from, to } of ranges) expect(sorted.includes(from) && sorted.includes(to)).toBe(true);
      const gaps = ranges.slice(1).map(({ from }, at) => from - (ranges[at]?.to ?? 0n));
      for (const gap of gaps) expect(gap).toBeGreaterThan(50_000n);
    }),
  );
});

test("a gap of 50,000 rows is read through, a larger one is not", () => {
  expect(rangesOf([1n, 50_001n])).toEqual([{ from: 1n, to: 50_001n }]);
  expect(rangesOf([1n, 50_002n])).toEqual([
    { from: 1n, to: 1n },
    { from: 50_002n, to: 50_002n },
  ]);
  expect(rangesOf([])).toEqual([]);
});
