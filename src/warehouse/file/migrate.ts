// Brings a file up to this program's schema, or refuses a file with an unknown schema. Each migration and its record
// run in one transaction; then the WAL is flushed. Columns added for fields that were unknown before are filled from
// `_extra` in that transaction.
import { z } from "zod";
import { TABLE_NAMES, type TableSpec, tableSpec } from "../../catalog/tables.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { Database } from "../duckdb/database.ts";
import { instant } from "../duckdb/duck-values.ts";
import { type Migration, readMigrations, sqlText } from "../duckdb/sql-files.ts";
import type { Sql } from "../duckdb/statements.ts";
import { fillNewColumns, readColumns } from "../load/fill-from-extra.ts";

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
