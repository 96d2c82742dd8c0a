// The mark stored with a delivery's position: facts of the delivered snapshot, by which the next delivery detects what changed without a
// number in the change feed: columns added by an upgrade, rows that left or entered the setting `scope`, readings that retention removed,
// erased contacts, a file that a replay rebuilt.
// SQL is generated because the table varies; names come from the catalog.

import { createHash } from "node:crypto";
import { z } from "zod";
import { hasScopeMark, isUsageTable, TABLE_NAMES, type TableName, tableSpec } from "../catalog/tables.ts";
import { quoted } from "../core/text/sql-text.ts";
import { sqlText } from "../warehouse/duckdb/sql-files.ts";
import type { ReadSql } from "../warehouse/duckdb/statements.ts";
import { changeAt } from "../warehouse/read/changes/read-changes.ts";
import { readBegunAt } from "../warehouse/read/read-run.ts";
import type { DeliveredTable, Position } from "./destination.ts";

// SQL of the keys that changed after a position. Every kind of destination attaches the snapshot and joins with it. Pure.

/**
 * A query for the distinct keys of a table's rows that were inserted, updated or deleted after `from`, in the key's
 * columns and types. `catalog`: name under which the snapshot is attached. Only for tables of extent `changes`.
 */
export const changedKeysSql = (
  { name, key, columns }: Pick<DeliveredTable, "name" | "key" | "columns">,
  { n }: Pick<Position, "n">,
  catalog: string,
): string => {
  const typeOf = (column: string) => columns.find((one) => one.name === column)?.type ?? "VARCHAR";
  // DuckDB may cast the keys of other tables before it joins, and those need not fit.
  const cells = key.map((column, index) => `TRY_CAST(c.key_${index + 1} AS ${typeOf(column)}) AS ${quoted(column)}`);
  const feed = `${quoted(catalog)}.sync`;
  return `SELECT DISTINCT ${cells.join(", ")}
    FROM (SELECT first_n, last_n FROM ${feed}.change_batches WHERE table_name = '${name}' AND last_n > ${n}) AS b
    JOIN (FROM ${feed}.changes WHERE n > ${n}) AS c ON c.n BETWEEN b.first_n AND b.last_n`;
};

export type Columns = readonly { readonly name: string; readonly type: string }[];

const tableMark = z.object({
  rows: z.int(),
  /** Digest of names and types of the columns, and of when the file was begun. */
  columns: z.string(),
  /** Differs when something changes without a number: another text, other rows. */
  unnumbered: z.string(),
});
export type TableMark = z.output<typeof tableMark>;

const markSchema = z.object({
  v: z.literal(1),
  /** The change with the position's number, as sql/deliver/change-at.sql describes it; empty: there is none. */
  change: z.string(),
  tables: z.record(z.string(), tableMark),
});
export type Mark = z.output<typeof markSchema>;

export const markText = (mark: Mark): string => JSON.stringify(mark);

/** A stored mark; null: another version wrote it. */
export const readMark = (text: string): Mark | null => {
  try {
    return markSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
};

const columnRow = z.object({ name: z.string(), type: z.string() });
const factsRow = z.object({ rows: z.number(), unnumbered: z.string() });

/** Columns of a table of schema `main`; empty: the snapshot is older than the table. */
export const columnsOf = (sql: ReadSql, table: TableName): Promise<Columns> =>
  sql.query(sqlText("warehouse/columns-of.sql"), [`main.${table}`], columnRow);

/** Expression over a table `t` for what changes without a number. */
const unnumberedSql = (table: TableName, columns: Columns): string => {
  // Keys of erased contacts in the feed: one more, and rows of their own are gone. Their number alone stays the same when
  // retention removes another one meanwhile.
  const erased = (figure: string) => `(SELECT ${figure} FROM sync.changes WHERE starts_with(key_1, 'forgotten:'))`;
  const parts: string[] = [];
  if (hasScopeMark(table) && columns.some(({ name }) => name === "_in_scope")) {
    const key = tableSpec(table).key.map((column) => `CAST(t.${quoted(column)} AS VARCHAR)`);
    parts.push(`bit_xor(md5_number_lower(concat_ws('/', ${key.join(", ")}))) FILTER (WHERE NOT t._in_scope)`);
  }
  if (table === "contacts") parts.push(erased("count(*)"), erased("max(n)"));
  if (table === "usage_requests") {
    const texts = ["endpoint", "input", "error", "_extra"].filter((column) =>
      columns.some(({ name }) => name === column),
    );
    const row = `concat_ws(' ', t.id, ${texts.map((column) => `t.${quoted(column)}`).join(", ")})`;
    // Not their number: a row that named two erased contacts changes twice.
    parts.push(`bit_xor(md5_number_lower(${row})) FILTER (WHERE contains(${row}, 'forgotten:'))`);
  }
  return parts.length === 0 ? "''" : `concat_ws('/', ${parts.map((part) => `coalesce(${part}, 0)`).join(", ")})`;
};

const factsOf = async (
  sql: ReadSql,
  table: TableName,
  columns: Columns,
  begunAt: number | null,
): Promise<TableMark> => {
  const query = `SELECT count(*) AS rows, ${unnumberedSql(table, columns)} AS unnumbered FROM main.${quoted(table)} AS t`;
  const [facts] = await sql.query(query, [], factsRow);
  const digest = createHash("sha256")
    .update(JSON.stringify([begunAt, columns]))
    .digest("hex")
    .slice(0, 12);
  return { rows: facts?.rows ?? 0, unnumbered: facts?.unnumbered ?? "", columns: digest };
};

export interface Facts {
  readonly mark: Mark;
  readonly columns: ReadonlyMap<TableName, Columns>;
}

/** `usage`: the four tables of readings. */
const isAsked = (table: TableName, names: readonly string[]): boolean =>
  names.length === 0 || names.includes(table) || (isUsageTable(table) && names.includes("usage"));

/** The mark of a snapshot whose last change is `n`. `names`: tables to deliver; empty: all. */
export const factsOfSnapshot = async (sql: ReadSql, n: number, names: readonly string[]): Promise<Facts> => {
  const columns = new Map<TableName, Columns>();
  const tables: Record<string, TableMark> = {};
  const begunAt = await readBegunAt(sql);
  for (const table of TABLE_NAMES.filter((one) => isAsked(one, names))) {
    const found = await columnsOf(sql, table);
    if (found.length === 0) continue;
    columns.set(table, found);
    tables[table] = await factsOf(sql, table, found, begunAt);
  }
  return { mark: { v: 1, change: (await changeAt(sql, n)) ?? "", tables }, columns };
};

const netRow = z.object({ before: z.number(), after: z.number() });

/** Counts the keys of a table that changed after `n`: how many had a row before, and how many have one now. */
export const changedRows = async (sql: ReadSql, table: TableName, columns: Columns, n: number) => {
  const { key } = tableSpec(table);
  const places = key.map((_, index) => `key_${index + 1}`);
  const typeOf = (column: string) => columns.find(({ name }) => name === column)?.type ?? "VARCHAR";
  const isKey = key.map((column, index) => `t.${quoted(column)} = TRY_CAST(k.key_${index + 1} AS ${typeOf(column)})`);
  const query = `WITH k AS (
      SELECT ${places.map((place) => `c.${place}`).join(", ")}, arg_min(b.change, c.n) AS first
      FROM (FROM sync.change_batches WHERE table_name = $1 AND last_n > $2) AS b
      JOIN (FROM sync.changes WHERE n > $2) AS c ON c.n BETWEEN b.first_n AND b.last_n
      GROUP BY ${places.map((place) => `c.${place}`).join(", ")}
    )
    SELECT count(*) FILTER (WHERE k.first <> 'insert') AS before, count(t.${quoted(key[0] ?? "")}) AS after
    FROM k LEFT JOIN main.${quoted(table)} AS t ON ${isKey.join(" AND ")}`;
  const [net] = await sql.query(query, [table, n], netRow);
  return { before: net?.before ?? 0, after: net?.after ?? 0 };
};
