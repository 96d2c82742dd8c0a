// Rows of schema sync, appended in pieces that DuckDB takes.
import { BIGINT, DuckDBTimestampTZValue, VARCHAR } from "@duckdb/node-api";
import { expect, test } from "vitest";
import type { Sql } from "../../../../src/warehouse/duckdb/statements.ts";
import { append, at, whole } from "../../../../src/warehouse/load/change-log.ts";

/** Statements that only note what is appended. */
const noting = () => {
  const chunks: (readonly (readonly unknown[])[])[] = [];
  const none = () => Promise.reject(new Error("nothing else is asked for"));
  const sql: Sql = {
    query: none,
    cells: none,
    integers: none,
    run: none,
    append: async (_, __, pieces) => void chunks.push(...pieces),
  };
  return { sql, chunks };
};

test("rows become columns; a row that lacks its last values has none there", async () => {
  const { sql, chunks } = noting();
  await append(sql, "t", [BIGINT, VARCHAR], [[1n, "a"], [2n]]);
  expect(chunks).toEqual([
    [
      [1n, 2n],
      ["a", null],
    ],
  ]);
});

test("more rows than DuckDB takes at once come in pieces, none lost and none twice", async () => {
  const { sql, chunks } = noting();
  const rows = Array.from({ length: 5000 }, (_, row) => [BigInt(row)]);
  await append(sql, "t", [BIGINT], rows);
  expect(chunks.map(([column]) => column?.length)).toEqual([2048, 2048, 904]);
  expect(chunks.flatMap(([column]) => column)).toEqual(rows.flat());
  await append(sql, "t", [BIGINT], []);
  expect(chunks).toHaveLength(3);
});

test("times keep their microseconds, numbers are whole, and nothing stays nothing", () => {
  expect(at(1.0015)).toEqual(new DuckDBTimestampTZValue(1002n));
  expect(whole(2.5)).toBe(3n);
  expect([at(null), whole(null)]).toEqual([null, null]);
});
