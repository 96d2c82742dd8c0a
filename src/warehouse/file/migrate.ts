// Brings a file up to this program's schema, or refuses a file with an unknown schema. Each migration and its record
// run in one transaction; then the WAL is flushed. Columns added for fields that were unknown before are filled from
// `_extra` in that transaction.

import { BIGINT, type DuckDBValue, VARCHAR } from "@duckdb/node-api";
import { parse } from "lossless-json";
import { z } from "zod";
import type { FieldSpec } from "../../catalog/fields.ts";
import { TABLE_NAMES, type TableSpec, tableSpec } from "../../catalog/tables.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { exactNumber, isJsonObject, type JsonValue } from "../../core/json.ts";
import { quoted } from "../../core/text/sql-text.ts";
import type { Database } from "../duckdb/database.ts";
import { type Migration, readMigrations, sqlText, textsOf } from "../duckdb/sql-files.ts";
import { bigintCell, instant, type Sql } from "../duckdb/statements.ts";
import { convertCell, DUCK_TYPES, duckCell } from "../record/convert-cell.ts";
import { joinExtra, splitExtra } from "../record/json-text.ts";

// Fills a column that a migration adds for a field that was unknown before: from `_extra`, in main and in history, as
// if the field had been known when the records were received.

const SCHEMAS = ["main", "history"] as const;
const ROWS_AT_ONCE = 2048;

const isValue = (value: unknown): value is JsonValue => value !== undefined;

/** The value of an entry of `_extra` (see json-text.ts, `extraText`). */
const unpacked = (text: string): JsonValue => {
  const value = parse(text, null, exactNumber);
  if (!isValue(value)) return null;
  if (!isJsonObject(value) || Object.keys(value).length !== 1 || typeof value.$json !== "string") return value;
  const exact = parse(value.$json, null, exactNumber);
  return isValue(exact) ? exact : null;
};

const storedRow = z.object({ row: bigintCell, extra: z.string() });
type Stored = z.output<typeof storedRow>;

/** Row id, one cell per field, and the rest of `_extra`. */
const filledRow = ({ row, extra }: Stored, fields: readonly FieldSpec[]): DuckDBValue[] => {
  const entries = splitExtra(extra);
  const cells = fields.map(({ name, columnType, isReference }) => {
    const text = entries.get(name);
    const value = text === undefined ? null : unpacked(text);
    if (value === null) {
      entries.delete(name);
      return null;
    }
    const { cell, exact } = convertCell(columnType, value, isReference ? "reference" : "none");
    // A value that the column holds only in part also stays in `_extra`, as in a record received today.
    if (exact) entries.delete(name);
    return duckCell(columnType, cell);
  });
  return [row, ...cells, joinExtra(entries)];
};

/**
 * Fills the columns of `fields` in one table from its `_extra`, inside `tx`. Returns the number of rows that held
 * any.
 */
const fillTable = async (tx: Sql, path: string, fields: readonly FieldSpec[]): Promise<number> => {
  const columns = fields.map(({ column, columnType }) => `${quoted(column)} ${columnType}`);
  await tx.run(`CREATE OR REPLACE TEMP TABLE filled (_row BIGINT, ${columns.join(", ")}, _extra JSON)`);
  const types = [BIGINT, ...fields.map(({ columnType }) => DUCK_TYPES[columnType]), VARCHAR];
  const names = fields.map(({ name }) => name);
  let last = -1n;
  let rows = 0;
  for (;;) {
    const stored = await tx.query(
      `SELECT rowid AS row, CAST(_extra AS VARCHAR) AS extra FROM ${path}
       WHERE rowid > ? AND _extra IS NOT NULL AND list_has_any(json_keys(_extra), ?) ORDER BY rowid LIMIT ${ROWS_AT_ONCE}`,
      [last, names],
      storedRow,
    );
    const newest = stored.at(-1);
    if (newest === undefined) break;
    const filled = stored.map((row) => filledRow(row, fields));
    await tx.append("filled", types, filled);
    last = newest.row;
    rows += stored.length;
  }
  const sets = fields.map(({ column }) => `${quoted(column)} = u.${quoted(column)}`);
  if (rows > 0) {
    await tx.run(
      `UPDATE ${path} SET ${sets.join(", ")}, _extra = u._extra FROM filled AS u WHERE u._row = ${path}.rowid`,
    );
  }
  await tx.run("DROP TABLE filled");
  return rows;
};

/** `schema.table.column` of every column of main and history. */
export const readColumns = async (sql: Sql): Promise<ReadonlySet<string>> => {
  const query = `SELECT schema_name || '.' || table_name || '.' || column_name FROM duckdb_columns()
     WHERE schema_name IN ('main', 'history') AND NOT internal`;
  return new Set(await textsOf(sql, query));
};

/**
 * Fills every catalog column added since `before` was read, in tables that existed then. Call it in the transaction
 * that added them. Returns the number of rows whose `_extra` held one of the fields.
 */
export const fillNewColumns = async (
  tx: Sql,
  before: ReadonlySet<string>,
  specs: readonly TableSpec[],
): Promise<number> => {
  const after = await readColumns(tx);
  let rows = 0;
  for (const schema of SCHEMAS) {
    for (const { name, fields } of specs) {
      const path = (column: string) => `${schema}.${name}.${column}`;
      if (!before.has(path("_extra"))) continue;
      const fresh = fields.filter(({ column }) => after.has(path(column)) && !before.has(path(column)));
      if (fresh.length > 0) rows += await fillTable(tx, `${schema}.${quoted(name)}`, fresh);
    }
  }
  return rows;
};

const appliedRow = z.object({ number: z.int(), name: z.string(), checksum: z.string() });
const readAppliedMigrations = (sql: Sql) => sql.query(sqlText("warehouse/applied-migrations.sql"), [], appliedRow);

/**
 * Applies the missing migrations and returns their names. `now`: ms since the epoch.
 * Throws WAREHOUSE_NEWER when the file has migrations that this program lacks, MIGRATION_CHANGED when a text differs.
 */
export const migrate = async (
  database: Database,
  now: number,
  migrations: readonly Migration[] = readMigrations(),
  specs: readonly TableSpec[] = TABLE_NAMES.map(tableSpec),
): Promise<readonly string[]> => {
  await database.run(sqlText("warehouse/migrations-table.sql"));
  const applied = await readAppliedMigrations(database);
  for (const { number, name, checksum } of applied) {
    const known = migrations.find((candidate) => candidate.number === number);
    if (known === undefined) {
      const found = applied.at(-1)?.number;
      throw new DuckmirrorError("WAREHOUSE_NEWER", { file: database.file, found, known: migrations.length });
    }
    if (known.checksum !== checksum) throw new DuckmirrorError("MIGRATION_CHANGED", { name });
  }
  const missing = migrations.filter(({ number }) => !applied.some((row) => row.number === number));
  // The tables of a new file have no rows to fill.
  const isNew = applied.length === 0;
  for (const { number, name, sql, checksum } of missing) {
    const isCommitted = async (reader: Sql) =>
      (await readAppliedMigrations(reader)).some((row) => row.number === number);
    await database.transaction(
      async (tx) => {
        const before = isNew ? null : await readColumns(tx);
        await tx.run(sql);
        if (before !== null) await fillNewColumns(tx, before, specs);
        await tx.run(sqlText("warehouse/record-migration.sql"), [number, name, checksum, instant(now)]);
      },
      { isCommitted },
    );
  }
  // Flush now: recovering DDL from the WAL is the part of DuckDB's recovery that failed most often.
  if (missing.length > 0) await database.flushWal();
  return missing.map(({ name }) => name);
};
