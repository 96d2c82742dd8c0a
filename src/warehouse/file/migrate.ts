// Brings a file up to the schema this program knows; refuses one it does not understand.
// Each migration runs in its own transaction together with its record, then the WAL is flushed. Columns it adds for
// fields that used to be unknown are filled from `_extra` in that transaction.
import { z } from "zod";
import { TABLE_NAMES, type TableSpec, tableSpec } from "../../catalog/tables.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { Database, Sql } from "../duckdb/database.ts";
import { instant } from "../duckdb/duck-values.ts";
import { type Migration, readMigrations, sqlText } from "../duckdb/sql-files.ts";
import { fillNewColumns, readColumns } from "../load/fill-from-extra.ts";

const appliedRow = z.object({ number: z.int(), name: z.string(), checksum: z.string() });
const readAppliedMigrations = (sql: Sql) => sql.query(sqlText("warehouse/applied-migrations.sql"), [], appliedRow);

/**
 * Applies what is missing and answers with the names applied. `now`: ms since the epoch.
 * Throws WAREHOUSE_NEWER when the file has migrations this program lacks, MIGRATION_CHANGED when a text differs.
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
  // The tables of a new file hold no rows that could be filled.
  const isNew = applied.length === 0;
  for (const { number, name, sql, checksum } of missing) {
    const isCommitted = async (sql: Sql) => (await readAppliedMigrations(sql)).some((row) => row.number === number);
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
  // DDL that only stands in the WAL is the part of DuckDB's recovery that failed most often.
  if (missing.length > 0) await database.flushWal();
  return missing.map(({ name }) => name);
};
