// The empty mirror that the build makes, from which every new mirror begins.
import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, inject, test } from "vitest";
import { type Database, openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../src/warehouse/file/migrate.ts";
import { applyViews } from "../../src/warehouse/file/views.ts";
import { makeEmptyMirror } from "../../src/warehouse/file/working-file.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";

const built = join(dirname(inject("builtCli")), "../../empty-mirror.duckdb");

/** Everything that a file says about itself: tables, columns, keys, comments, views, and rows of schema sync. */
const contents = async (database: Database) => {
  const cells = (sql: string) => database.cells(sql, []);
  return {
    columns: await cells(`SELECT schema_name, table_name, column_name, data_type, is_nullable, column_default, comment
      FROM duckdb_columns() WHERE NOT internal AND database_name = current_database() ORDER BY ALL`),
    tables: await cells(`SELECT schema_name, table_name, comment, has_primary_key, estimated_size
      FROM duckdb_tables() WHERE database_name = current_database() ORDER BY ALL`),
    keys: await cells(`SELECT schema_name, table_name, constraint_text FROM duckdb_constraints()
      WHERE database_name = current_database() ORDER BY ALL`),
    views: await cells(`SELECT schema_name, view_name, sql, comment FROM duckdb_views()
      WHERE NOT internal AND database_name = current_database() ORDER BY ALL`),
    migrations: await cells("SELECT number, name, checksum FROM sync.migrations ORDER BY number"),
    checksum: await cells("SELECT checksum FROM sync.views"),
    journal: await cells("FROM sync.journal"),
    feed: await cells("FROM sync.change_feed"),
  };
};

/** What a new file holds, opened again: DuckDB then shows the texts of its views in another form. */
const created = async (file: string) => {
  await makeEmptyMirror(file);
  return openDatabase(file);
};

test("the build's empty mirror is what this program creates without it", async () => {
  const dir = tempDir();
  const copy = join(dir, "working.duckdb");
  copyFileSync(built, copy);
  const [made, fresh] = [await openDatabase(copy), await created(join(dir, "fresh.duckdb"))];
  try {
    expect(await migrate(made, 1)).toEqual([]);
    expect(await applyViews(made, 1)).toBe(false);
    const expected = await contents(fresh);
    expect(expected.columns.length).toBeGreaterThan(500);
    expect(await contents(made)).toEqual(expected);
  } finally {
    await made.close();
    await fresh.close();
  }
});
