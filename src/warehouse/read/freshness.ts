// Reads rows, age and completeness of tables and streams from a snapshot and the looks since (looks.ts), for `status`, page, metrics and
// reports. Times are ms since the epoch.
import { z } from "zod";
import { TABLE_NAMES } from "../../catalog/tables.ts";
import type { JudgedStream } from "../../core/report/verdict.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import type { ReadSql } from "../duckdb/statements.ts";
import { type Look, lookTableRow } from "./looks.ts";

const count = z.number();
const word = z.string().nullable();

const freshnessRow = z.object({
  ...lookTableRow.shape,
  stream: z.string(),
  row_count: count,
  last_change_at: count.nullable(),
  max_age_hours: count.nullable(),
  /** Total of the service's latest counts of its lists. */
  total_count: count.nullable(),
  scopes: count,
  walking_scopes: count,
  unchecked_scopes: count,
  failed_scopes: count,
  error: word,
  complete: z.boolean(),
  /** Number of rows that could not be confirmed, null where unknown, and the reason. */
  unconfirmed: count.nullable(),
  unconfirmed_because: word,
});
export type Freshness = z.output<typeof freshnessRow>;

/** Every table, with the times of checks as the last look has them. */
export const readFreshness = async (sql: ReadSql, looks: readonly Look[]): Promise<readonly Freshness[]> => {
  const rows = await sql.query(sqlText("status/freshness.sql"), [], freshnessRow);
  const looked = new Map(looks.at(-1)?.tables.map((table) => [table.table_name, table]));
  return rows.map((row) => ({ ...row, ...looked.get(row.table_name) }));
};

export const inCatalogOrder = (tables: readonly Freshness[]): readonly Freshness[] =>
  TABLE_NAMES.flatMap((name) => tables.find(({ table_name }) => table_name === name) ?? []);

/** Streams, whose tables share their state: one is complete if all of its tables are. */
export const streamsOf = (tables: readonly Freshness[]): readonly Freshness[] => {
  const streams = new Map<string, Freshness>();
  for (const table of tables) {
    const known = streams.get(table.stream);
    if (known === undefined || (known.complete && !table.complete)) streams.set(table.stream, table);
  }
  return [...streams.values()];
};

export const judgedOf = (stream: Freshness): JudgedStream => ({
  stream: stream.stream,
  complete: stream.complete,
  failed: stream.failed_scopes,
  oldestCheckAt: stream.oldest_checked_at,
  dueAt: stream.due_at,
});
