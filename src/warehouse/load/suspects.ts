// Finds suspects in the mirror: rows that the service probably deleted although no complete walk confirmed it, the most probable first.
// Also counts mirrored rows per day, which a search for deleted rows compares with the service's counts. SQL is generated because table and
// column vary; every value is bound.

import { z } from "zod";
import { type ScopedTable, tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";
import { textsOf } from "../duckdb/sql-files.ts";
import { instant, rowOf, type Sql } from "../duckdb/statements.ts";

export interface SuspectSearch {
  readonly table: ScopedTable;
  /** The walk that did not add up. */
  readonly walkId: string;
  /** The previous walk, if it did not add up either. */
  readonly walkBefore: string | null;
  readonly limit: number;
}

const suspectRow = rowOf({
  id: z.string(),
  /** The walk returned the row, so it was deleted later, if at all. */
  met: z.boolean(),
  /** Its account is no longer mirrored. */
  orphan: z.boolean(),
  /** Neither this walk nor the previous one returned the row. */
  missedTwice: z.boolean(),
});
export type Suspect = Readonly<z.output<typeof suspectRow>>;

const metBy =
  "EXISTS (FROM sync.walk_seen AS w WHERE w.walk_id = ? AND w.table_name = ? AND w.id = CAST(t.id AS VARCHAR))";

const hasAccount = (table: ScopedTable): boolean => tableSpec(table).fields.some(({ name }) => name === "accountId");

/** Rows that the walk did not return, and rows without their account. */
export const findSuspects = (sql: Sql, search: SuspectSearch): Promise<readonly Suspect[]> => {
  const { table, walkId, walkBefore, limit } = search;
  const orphan = hasAccount(table) ? "NOT EXISTS (FROM main.accounts AS a WHERE a.id = t.account_id)" : "false";
  // A row that was added after the previous walk was not missed by it.
  const missedBefore = `NOT ${metBy} AND EXISTS (FROM sync.walk_seen AS w WHERE w.walk_id = ?) AND t._first_synced_at < (
    SELECT coalesce(walked_at, checked_at) FROM sync.stream_state WHERE stream = ? AND scope = '')`;
  const query = `WITH judged AS (
    SELECT CAST(t.id AS VARCHAR) AS id, ${metBy} AS met, ${orphan} AS orphan, ${missedBefore} AS missed_before
    FROM main.${table} AS t
    WHERE t._in_scope
  )
  SELECT id, met, orphan, NOT met AND missed_before IS TRUE AS missed_twice
  FROM judged
  WHERE NOT met OR orphan
  ORDER BY met, NOT orphan, NOT missed_twice, md5(id || ?), id
  LIMIT ?`;
  const before = walkBefore ?? "";
  return sql.query(query, [walkId, table, before, table, before, table, walkId, limit], suspectRow);
};

/** A few rows that the walk returned and whose account exists, so the service must know them by id. */
export const findMet = async (
  sql: Sql,
  { table, walkId, limit }: Omit<SuspectSearch, "walkBefore">,
): Promise<readonly string[]> => {
  const parent = hasAccount(table) ? "AND EXISTS (FROM main.accounts AS a WHERE a.id = t.account_id)" : "";
  const query = `SELECT CAST(t.id AS VARCHAR) AS id FROM main.${table} AS t WHERE t._in_scope AND ${metBy} ${parent} ORDER BY t._synced_at DESC, md5(id || ?) LIMIT ?`;
  return textsOf(sql, query, [walkId, table, walkId, limit]);
};

export interface AccountSearch {
  readonly table: ScopedTable;
  /** Rows whose account the mirror holds, or does not hold. */
  readonly mirrored: boolean;
  readonly limit: number;
}

const accountRows = z.object({ account: z.string(), ids: z.array(z.string()) });
export type RowsOfAccount = z.infer<typeof accountRows>;

/** Rows in scope by account, those with the most rows first. */
export const readRowsByAccount = async (
  sql: Sql,
  { table, mirrored, limit }: AccountSearch,
): Promise<readonly RowsOfAccount[]> => {
  if (!hasAccount(table)) return [];
  const query = `SELECT CAST(t.account_id AS VARCHAR) AS account, list(CAST(t.id AS VARCHAR) ORDER BY t.id) AS ids
    FROM main.${table} AS t
    WHERE t._in_scope AND t.account_id IS NOT NULL
      AND ${mirrored ? "" : "NOT "}EXISTS (FROM main.accounts AS a WHERE a.id = t.account_id)
    GROUP BY t.account_id
    ORDER BY count(*) DESC, t.account_id
    LIMIT ?`;
  return sql.query(query, [limit], accountRows);
};

export interface DateField {
  readonly table: ScopedTable;
  /** Name of the field in the API. */
  readonly field: string;
}

const dayRow = rowOf({
  /** Midnight UTC, ms since the epoch. */
  day: z.number(),
  rows: z.number(),
  /** Those of them that are dated exactly at midnight. */
  atMidnight: z.number(),
});
export type RowsOfDay = Readonly<z.output<typeof dayRow>>;

/** A point in time, ms since the epoch, and whether rows of exactly that time lie before it. */
export interface DateBound {
  readonly at: number;
  readonly inclusive: boolean;
}

export interface RowsBetween extends DateField {
  /** null: from the first row. */
  readonly from: DateBound | null;
  /** null: to the last row, and rows without a date. */
  readonly to: DateBound | null;
  /** Ids, as text, of rows to leave out. */
  readonly besides: readonly string[];
  readonly limit: number;
}

const columnOf = ({ table, field }: DateField): string => {
  const column = tableSpec(table).fields.find(({ name }) => name === field)?.column;
  if (column === undefined) throw new TypeError(`${table} has no field ${field}`);
  return `t.${quoted(column)}`;
};

/** Rows in scope per day, the earliest first; rows without a date are in none. */
export const readRowsPerDay = (sql: Sql, field: DateField): Promise<readonly RowsOfDay[]> => {
  const micros = `epoch_us(${columnOf(field)})`;
  const query = `SELECT
    CAST(floor(${micros} / 86400000000) AS BIGINT) * 86400000 AS day,
    count(*) AS rows,
    count(*) FILTER (${micros} % 86400000000 = 0) AS at_midnight
  FROM main.${field.table} AS t
  WHERE t._in_scope AND ${micros} IS NOT NULL
  GROUP BY 1
  ORDER BY 1`;
  return sql.query(query, [], dayRow);
};

/** Ids, as text, of rows in scope between two bounds. */
export const readRowsBetween = async (sql: Sql, search: RowsBetween): Promise<readonly string[]> => {
  const { table, from, to, besides, limit } = search;
  const column = columnOf(search);
  const isBefore = (bound: DateBound) => `${column} ${bound.inclusive ? "<=" : "<"} ?`;
  const conditions = [
    "t._in_scope",
    ...(from === null ? [] : [`${isBefore(from)} IS NOT TRUE`]),
    ...(to === null ? [] : [isBefore(to)]),
    "NOT list_contains(?, CAST(t.id AS VARCHAR))",
  ];
  const bounds = [from, to].flatMap((bound) => (bound === null ? [] : [instant(bound.at)]));
  const query = `SELECT CAST(t.id AS VARCHAR) AS id
    FROM main.${table} AS t
    WHERE ${conditions.join(" AND ")}
    ORDER BY t.id
    LIMIT ?`;
  return textsOf(sql, query, [...bounds, besides, limit]);
};
