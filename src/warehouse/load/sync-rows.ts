// Writes rows into the tables of schema sync.
import { DuckDBTimestampTZValue, type DuckDBType, type DuckDBValue } from "@duckdb/node-api";
import { CHUNK_ROWS } from "../duckdb/append.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import type { Sql } from "../duckdb/statements.ts";

/** A time in ms since the epoch as an appended cell. */
export const at = (ms: number | null): DuckDBValue =>
  ms === null ? null : new DuckDBTimestampTZValue(BigInt(Math.round(ms * 1000)));
/** A whole number as an appended cell. */
export const whole = (value: number | null): DuckDBValue => (value === null ? null : BigInt(Math.round(value)));

export type Rows = readonly (readonly DuckDBValue[])[];

/** Appends rows to a table. */
export const append = (tx: Sql, table: string, types: readonly DuckDBType[], rows: Rows): Promise<void> => {
  const chunks: DuckDBValue[][][] = [];
  for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
    const part = rows.slice(from, from + CHUNK_ROWS);
    chunks.push(types.map((_, column) => part.map((row) => row[column] ?? null)));
  }
  return tx.append(table, types, chunks);
};

/** Inserts rows into a table of schema sync with a statement that reads them from `incoming`. */
export const writeThrough = async (
  tx: Sql,
  table: string,
  types: readonly DuckDBType[],
  rows: Rows,
  statement: string,
) => {
  if (rows.length === 0) return;
  await tx.run(`CREATE OR REPLACE TEMP TABLE incoming AS SELECT * FROM sync.${table} LIMIT 0`);
  await append(tx, "incoming", types, rows);
  await tx.run(sqlText(statement));
};
