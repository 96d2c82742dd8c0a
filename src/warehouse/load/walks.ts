// Compares a walk with the mirror: counts rows of both, finds mirrored rows that the walk did not return, and moves them to history. Only
// rows in the walk's scope count (a table, or a company's part of it), and none outside the row scope (`_in_scope`). SQL is generated
// because the table varies; every value is bound.
import { z } from "zod";
import { isScopedTable, TABLE_NAMES, type TableName, tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";
import { numberOf, sqlText, textsOf } from "../duckdb/sql-files.ts";
import { instant, type Sql, type SqlValue } from "../duckdb/statements.ts";
import { type ChangeLog, NOTHING_REDACTED, openChangeLog, type RedactedChanges } from "./change-log.ts";

// Starts the change feed with the rows that exist, as inserts: in a warehouse that is older than the feed, and after a
// replay whose changes are no longer those that the numbers were given to.

/** A feed that starts after the number `after`. */
interface FeedStart {
  readonly after: number;
  /** ms since the epoch: time of the inserts. */
  readonly now: number;
}

/** Empties the feed and starts it with the present rows, table by table, in the order of their keys. */
export const startFeed = async (tx: Sql, { after, now }: FeedStart, past: RedactedChanges = NOTHING_REDACTED) => {
  await tx.run("DELETE FROM sync.changes; DELETE FROM sync.change_batches");
  await tx.run(sqlText("warehouse/change-feed-started.sql"), [after]);
  const log = openChangeLog(tx, past);
  for (const table of TABLE_NAMES) {
    await tx.run(`UPDATE history.${quoted(table)} SET change_n = NULL WHERE change_n IS NOT NULL`);
    const rows = await countRows(tx, table);
    if (rows > 0) await log.add({ table, change: "insert", runId: null, at: now }, rows, `main.${quoted(table)}`);
  }
  await log.end();
};

/** Scope of one walk: a whole table, or one company in a table that is kept per company. */
export interface WalkScope {
  readonly table: TableName;
  readonly walkId: string;
  /** Company that the walk covered; absent: the whole table. */
  readonly company?: string;
}

export interface Missing {
  /** Mirrored rows that the walk should return. */
  readonly rows: number;
  /** Those of them that it did not return. */
  readonly missing: number;
  /** Ids of up to 20 missing rows as text, evenly spread and the same each time. */
  readonly sample: readonly string[];
}

interface ScopedSql {
  /** Condition on alias `t`: the row is in the walk's scope. */
  readonly inScope: string;
  readonly scopeParams: readonly SqlValue[];
  /** Expression of the id as walks store it. */
  readonly id: string;
  /** Join of alias `t` with `w` in sync.walk_seen. */
  readonly met: string;
}

const scopedSql = (table: TableName, company: string | undefined): ScopedSql => {
  const { key } = tableSpec(table);
  const id = `CAST(t.${quoted(key.at(-1) ?? "")} AS VARCHAR)`;
  const perCompany = key[0] === "company_id" && key.length > 1;
  if (!perCompany && company !== undefined) throw new TypeError(`${table} is not kept per company`);
  return {
    inScope: company === undefined ? "true" : "t.company_id = ?",
    scopeParams: company === undefined ? [] : [company],
    id,
    met: `w.id = ${id}${perCompany ? " AND w.company_id = t.company_id" : ""}`,
  };
};

/** Condition on alias `t`: the list is expected to return the row (setting `scope`). */
const isExpected = (table: TableName): string => (isScopedTable(table) ? "t._in_scope" : "true");

const unmet = (table: TableName, { inScope, met }: ScopedSql) =>
  `${inScope} AND ${isExpected(table)} AND NOT EXISTS (FROM sync.walk_seen AS w WHERE w.walk_id = ? AND w.table_name = ? AND ${met})`;

const goneRow = z.object({ company: z.string().nullable(), ids: z.array(z.string()) });
/** Rows of a table by id; `company` where the table is kept per company. */
export interface MissingRows {
  readonly company: string | null;
  readonly ids: readonly string[];
}

/** Number of mirrored rows of a table, or of one company in it, without those outside the row scope. */
export const countRows = async (sql: Sql, table: TableName, company?: string): Promise<number> => {
  const { inScope, scopeParams } = scopedSql(table, company);
  const query = `SELECT count(*) FROM main.${quoted(table)} AS t WHERE ${inScope} AND ${isExpected(table)}`;
  return (await numberOf(sql, query, scopeParams)) ?? 0;
};

/** Ids, as text, of a company's rows in a table that is kept per company. */
export const idsOfCompany = async (sql: Sql, table: TableName, company: string): Promise<readonly string[]> => {
  const { inScope, scopeParams, id } = scopedSql(table, company);
  const query = `SELECT ${id} AS id FROM main.${quoted(table)} AS t WHERE ${inScope} ORDER BY ALL`;
  return textsOf(sql, query, scopeParams);
};

const SAMPLE = 20;

/** Counts the expected rows that the walk did not return, with a sample of their ids. */
export const findMissing = async (sql: Sql, { table, walkId, company }: WalkScope): Promise<Missing> => {
  const scoped = scopedSql(table, company);
  const from = `FROM main.${quoted(table)} AS t WHERE ${unmet(table, scoped)}`;
  const params = [...scoped.scopeParams, walkId, table];
  const rows = await countRows(sql, table, company);
  const missing = (await numberOf(sql, `SELECT count(*) ${from}`, params)) ?? 0;
  if (missing === 0) return { rows, missing, sample: [] };
  const picked = `SELECT ${scoped.id} AS id ${from} ORDER BY md5(${scoped.id}), id LIMIT ?`;
  return { rows, missing, sample: await textsOf(sql, picked, [...params, SAMPLE]) };
};

/** Distinct records that the walk returned. */
export const countSeen = async (sql: Sql, walkId: string): Promise<number> =>
  (await numberOf(sql, sqlText("warehouse/seen-count.sql"), [walkId])) ?? 0;

/** Deletes the stored keys of a finished walk. */
export const dropWalk = async (sql: Sql, walkId: string): Promise<void> => {
  await sql.run(sqlText("warehouse/drop-walk.sql"), [walkId]);
};

/** Moves rows selected by `condition` (alias `t`) to history as deleted. Returns their number. */
const moveToHistory = async (
  tx: Sql,
  { table, runId, now, log }: Deletion,
  condition: string,
  params: readonly SqlValue[],
): Promise<number> => {
  const columns = tableSpec(table).fields.map(({ column }) => quoted(column));
  const own = [...columns, "_first_synced_at", "_synced_at", "_run_id", "_extra"].join(", ");
  const main = `main.${quoted(table)}`;
  const key = tableSpec(table).key.map((column) => `t.${quoted(column)}`);
  const gone = `CREATE OR REPLACE TEMP TABLE gone AS SELECT t.rowid AS _old, ${key.join(", ")} FROM ${main} AS t WHERE ${condition}`;
  const deleted = (await numberOf(tx, gone, params)) ?? 0;
  if (deleted === 0) return 0;
  const number = await log.add({ table, change: "delete", runId, at: now }, deleted, "gone");
  await tx.run(
    `INSERT INTO history.${quoted(table)} (${own}, valid_from, valid_to, change, change_n) SELECT ${own}, _synced_at, greatest(_synced_at, ?, ?), 'delete', ${number}
     FROM ${main} AS k WHERE rowid IN (SELECT _old FROM gone)`,
    [instant(now), await log.after()],
  );
  return tx.run(`DELETE FROM ${main} WHERE rowid IN (SELECT _old FROM gone)`);
};

/** Ids of rows that the walk did not return, by company where the table is kept per company. */
export const missingIds = async (sql: Sql, { table, walkId, company }: WalkScope): Promise<readonly MissingRows[]> => {
  const scoped = scopedSql(table, company);
  const companyId = tableSpec(table).key[0] === "company_id" ? "t.company_id" : "NULL";
  return sql.query(
    `SELECT ${companyId} AS company, list(${scoped.id} ORDER BY ${scoped.id}) AS ids
     FROM main.${quoted(table)} AS t WHERE ${unmet(table, scoped)} GROUP BY ALL ORDER BY ALL`,
    [...scoped.scopeParams, walkId, table],
    goneRow,
  );
};

export const countMissing = (gone: readonly MissingRows[]): number =>
  gone.reduce((sum, { ids }) => sum + ids.length, 0);

export interface Deletion {
  readonly table: TableName;
  readonly runId: string;
  /** ms since the epoch: `valid_to` of the deleted versions. */
  readonly now: number;
  readonly log: ChangeLog;
}

/** Moves rows to history as deleted. Returns their number; unknown ids do not count. */
export const deleteMissing = async (tx: Sql, deletion: Deletion, gone: readonly MissingRows[]): Promise<number> => {
  let deleted = 0;
  for (const { company, ids } of gone) {
    const { inScope, scopeParams, id } = scopedSql(deletion.table, company ?? undefined);
    const condition = `${inScope} AND ${id} IN (SELECT unnest(?))`;
    deleted += await moveToHistory(tx, deletion, condition, [...scopeParams, [...ids]]);
  }
  return deleted;
};
