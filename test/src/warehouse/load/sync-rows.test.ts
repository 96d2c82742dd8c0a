// Rows of schema sync, appended in pieces that DuckDB takes.
import { BIGINT } from "@duckdb/node-api";
import { expect, test } from "vitest";
import type { Sql } from "../../../../src/warehouse/duckdb/statements.ts";
import { append } from "../../../../src/warehouse/load/change-log.ts";

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

test("more rows than DuckDB takes at once come in pieces, none lost and none twice", async () => {
  const { sql, chunks } = noting();
  const rows = Array.from({ length: 5000 }, (_, row) => [BigInt(row)]);
  await append(sql, "t", [BIGINT], rows);
  expect(chunks.map(([column]) => column?.length)).toEqual([2048, 2048, 904]);
  expect(chunks.flatMap(([column]) => column)).toEqual(rows.flat());
  await append(sql, "t", [BIGINT], []);
  expect(chunks).toHaveLength(3);
});
