// What a walk met against what the mirror holds: rows it did not meet, and their removal to history.
// Statements are generated, because the table is a parameter; every value is bound.
import { z } from "zod";
import { type TableName, tableSpec } from "../catalog/tables.ts";
import type { ScopeState } from "./checkpoint.ts";
import { writeScopeStates } from "./commit.ts";
import type { Database, Sql } from "./database.ts";
import { instant, type SqlValue } from "./duck-values.ts";
import { quoted } from "./merge-sql.ts";
import { sqlText } from "./sql-files.ts";

/** The rows of one walk: of a whole table, or of one company in a table that is kept per company. */
export interface WalkScope {
  readonly table: TableName;
  readonly walkId: string;
  /** Company the walk covered; without it, the whole table. */
  readonly company?: string;
}

export interface Missing {
  /** Rows mirrored in scope. */
  readonly rows: number;
  /** Of these, rows that the walk did not meet. */
  readonly missing: number;
  /** Ids of missing rows as text, spread over all of them, the same ones each time. */
  readonly sample: readonly string[];
}

interface ScopedSql {
  /** Condition on alias `t`: the row is in scope. */
  readonly inScope: string;
  readonly scopeParams: readonly SqlValue[];
  /** The id as walks remember it. */
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

const unmet = ({ inScope, met }: ScopedSql) =>
  `${inScope} AND NOT EXISTS (FROM sync.walk_seen AS w WHERE w.walk_id = ? AND w.table_name = ? AND ${met})`;

const countsRow = z.object({ rows: z.number() });
const idRow = z.object({ id: z.string() });

/** Rows mirrored for a table, or for one company in it. */
export const countRows = async (sql: Sql, table: TableName, company?: string): Promise<number> => {
  const { inScope, scopeParams } = scopedSql(table, company);
  const query = `SELECT count(*) AS "rows" FROM main.${quoted(table)} AS t WHERE ${inScope}`;
  return (await sql.query(query, scopeParams, countsRow))[0]?.rows ?? 0;
};

/** Mirrored rows in scope that the walk did not meet; at most `sampleSize` of their ids. */
export const findMissing = async (
  sql: Sql,
  { table, walkId, company }: WalkScope,
  sampleSize: number,
): Promise<Missing> => {
  const scoped = scopedSql(table, company);
  const from = `FROM main.${quoted(table)} AS t WHERE ${unmet(scoped)}`;
  const params = [...scoped.scopeParams, walkId, table];
  const rows = await countRows(sql, table, company);
  const missing = (await sql.query(`SELECT count(*) AS "rows" ${from}`, params, countsRow))[0]?.rows ?? 0;
  if (missing === 0 || sampleSize === 0) return { rows, missing, sample: [] };
  const picked = `SELECT ${scoped.id} AS id ${from} ORDER BY md5(${scoped.id}), id LIMIT ?`;
  const sample = await sql.query(picked, [...params, sampleSize], idRow);
  return { rows, missing, sample: sample.map(({ id }) => id) };
};

/** Distinct records that the walk has met. */
export const countSeen = async (sql: Sql, walkId: string): Promise<number> =>
  (await sql.query(sqlText("warehouse/seen-count.sql"), [walkId], countsRow))[0]?.rows ?? 0;

/** Drops what the walk has met. */
export const forgetWalk = async (sql: Sql, walkId: string): Promise<void> => {
  await sql.run(sqlText("warehouse/forget-walk.sql"), [walkId]);
};

/** Moves the rows that `condition` picks (alias `t`) to history as deleted. Answers with their number. */
const moveToHistory = async (
  tx: Sql,
  table: TableName,
  condition: string,
  params: readonly SqlValue[],
  now: number,
): Promise<number> => {
  const columns = tableSpec(table).fields.map(({ column }) => quoted(column));
  const own = [...columns, "_first_synced_at", "_synced_at", "_run_id", "_extra"].join(", ");
  const main = `main.${quoted(table)}`;
  await tx.run(
    `CREATE OR REPLACE TEMP TABLE gone AS SELECT t.rowid AS _old FROM ${main} AS t WHERE ${condition}`,
    params,
  );
  await tx.run(
    `INSERT INTO history.${quoted(table)} SELECT ${own}, _synced_at, greatest(_synced_at, ?), 'delete'
     FROM ${main} WHERE rowid IN (SELECT _old FROM gone)`,
    [instant(now)],
  );
  return tx.run(`DELETE FROM ${main} WHERE rowid IN (SELECT _old FROM gone)`);
};

export interface DeleteMissing extends WalkScope {
  /** Rows that `missing` counted. If it is another number now, nothing is deleted. */
  readonly expected: number;
  readonly runId: string;
  /** ms since the epoch: `valid_to` of the deleted versions. */
  readonly now: number;
  /** Stored in the same transaction. */
  readonly scope?: ScopeState;
}

/** Deletes what the walk did not meet, forgets the walk, stores the scope's state: one transaction. */
export const deleteMissing = (database: Database, request: DeleteMissing): Promise<number> =>
  database.transaction(async (tx) => {
    const { table, walkId, company, now, scope, expected } = request;
    const scoped = scopedSql(table, company);
    const deleted = await moveToHistory(tx, table, unmet(scoped), [...scoped.scopeParams, walkId, table], now);
    // A walk that was forgotten meanwhile has met nothing, and everything would be missing.
    if (deleted !== expected) throw new TypeError(`${table}: ${deleted} rows would go, ${expected} were counted`);
    await forgetWalk(tx, walkId);
    if (scope !== undefined) await writeScopeStates(tx, [scope]);
    return deleted;
  });

export interface DeleteKeys {
  readonly table: TableName;
  /** Ids as text: the last column of the table's key. */
  readonly ids: readonly string[];
  readonly company?: string;
  readonly runId: string;
  readonly now: number;
}

/** Deletes rows by id (the service said 404): old versions to history, one transaction. */
export const deleteKeys = (database: Database, request: DeleteKeys): Promise<number> =>
  database.transaction((tx) => {
    const { table, ids, company, now } = request;
    const { inScope, scopeParams, id } = scopedSql(table, company);
    const condition = `${inScope} AND ${id} IN (SELECT unnest(?))`;
    return moveToHistory(tx, table, condition, [...scopeParams, [...ids]], now);
  });
