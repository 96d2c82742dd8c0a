// Provenance of an answer for an assistant: the age of the tables that it used, and whether they are complete.
import { z } from "zod";
import { TABLE_NAMES, type TableName, VIEW_NAMES } from "../catalog/tables.ts";
import { sqlText } from "../warehouse/duckdb/sql-files.ts";
import type { ReadSql } from "../warehouse/duckdb/statements.ts";

export interface TableState {
  readonly table: string;
  readonly rows: number;
  /** When the part that is furthest behind was compared with the service, ISO 8601; null: never. */
  readonly checked_at: string | null;
  readonly complete: boolean;
  /** Rows that could not be confirmed; null: unknown. */
  readonly unconfirmed: number | null;
  readonly reason: string | null;
}

export interface Provenance {
  /** The oldest comparison with the service among the tables used; null: one was never compared. */
  readonly as_of: string | null;
  readonly complete: boolean;
  /** Tables that are not complete, and why. */
  readonly incomplete?: readonly { readonly table: string; readonly reason: string | null }[];
}

const count = z.coerce.number();
const stateRow = z
  .object({
    table_name: z.string(),
    row_count: count,
    checked_at: count.nullable(),
    complete: z.boolean(),
    unconfirmed: count.nullable(),
    because: z.string().nullable(),
  })
  .transform(
    ({ table_name: table, row_count: rows, checked_at, because: reason, ...state }): TableState => ({
      table,
      rows,
      checked_at: checked_at === null ? null : new Date(checked_at).toISOString(),
      ...state,
      reason,
    }),
  );

/** Age and completeness of every table. */
export const readTableStates = (sql: ReadSql): Promise<readonly TableState[]> =>
  sql.query(sqlText("mcp/tables.sql"), [], stateRow);

/** Tables and views that a statement names; a view counts as all tables. */
export const tablesNamed = (sql: string): readonly TableName[] => {
  const words = new Set(sql.toLowerCase().match(/\w+/g));
  if (VIEW_NAMES.some((name) => words.has(name))) return TABLE_NAMES;
  const named = TABLE_NAMES.filter((name) => words.has(name));
  return named.length === 0 ? TABLE_NAMES : named;
};

/** Provenance of an answer from these tables. Readings of usage are never the reason that an answer is incomplete. */
export const provenanceOf = (states: readonly TableState[], tables: readonly string[]): Provenance => {
  const used = states.filter(
    ({ table }) => tables.includes(table) && (tables.length === 1 || !table.startsWith("usage_")),
  );
  const incomplete = used.filter(({ complete }) => !complete).map(({ table, reason }) => ({ table, reason }));
  const times = used.map(({ checked_at }) => checked_at);
  const known = times.filter((time) => time !== null).toSorted();
  return {
    as_of: known.length < times.length ? null : (known[0] ?? null),
    complete: incomplete.length === 0,
    ...(incomplete.length === 0 ? {} : { incomplete }),
  };
};
