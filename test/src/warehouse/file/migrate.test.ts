import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { hasScopeMark, TABLE_NAMES, tableSpec } from "../../../../src/catalog/tables.ts";
import { isCode } from "../../../../src/core/errors.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { migration, readMigrations } from "../../../../src/warehouse/duckdb/sql-files.ts";
import { migrate } from "../../../../src/warehouse/file/migrate.ts";
import { tempDir } from "../temp-dir.ts";

const NOW = Date.UTC(2025, 0, 1);

const freshDatabase = async () => {
  const database = await openDatabase(join(tempDir(), "w.duckdb"));
  onTestFinished(() => database.close());
  return database;
};

const columnRow = z.object({
  schema_name: z.string(),
  table_name: z.string(),
  column_name: z.string(),
  type: z.string(),
});

const readColumns = async (schema: string) => {
  const database = await freshDatabase();
  await migrate(database, NOW);
  const rows = await database.query(
    `SELECT schema_name, table_name, column_name, data_type AS type FROM duckdb_columns()
     WHERE schema_name = ? AND NOT internal ORDER BY table_name`,
    [schema],
    columnRow,
  );
  const tables: Record<string, string[]> = {};
  for (const row of rows) {
    tables[row.table_name] = [...(tables[row.table_name] ?? []), `${row.column_name} ${row.type}`];
  }
  // A column that a migration adds is the table's last, whatever its place in the catalog.
  for (const columns of Object.values(tables)) columns.sort();
  return { database, tables };
};

const typeName = (type: string) => (type === "TIMESTAMPTZ" ? "TIMESTAMP WITH TIME ZONE" : type);
const catalogColumns = (more: readonly string[] = []) =>
  Object.fromEntries(
    TABLE_NAMES.map((name) => [
      name,
      [
        ...tableSpec(name).fields.map((field) => `${field.column} ${typeName(field.columnType)}`),
        "_first_synced_at TIMESTAMP WITH TIME ZONE",
        "_synced_at TIMESTAMP WITH TIME ZONE",
        "_run_id VARCHAR",
        "_extra JSON",
        ...(more.length === 0 && hasScopeMark(name) ? ["_in_scope BOOLEAN"] : []),
        ...more,
      ].sort(),
    ]),
  );

test("the migrated tables are those of the catalog, column for column and type for type", async () => {
  expect((await readColumns("main")).tables).toEqual(catalogColumns());
});

test("history holds the same columns and when each version was valid", async () => {
  const validity = [
    "valid_from TIMESTAMP WITH TIME ZONE",
    "valid_to TIMESTAMP WITH TIME ZONE",
    "change VARCHAR",
    "change_n BIGINT",
  ];
  expect((await readColumns("history")).tables).toEqual(catalogColumns(validity));
});

test("the primary keys of schema main are the catalog's, and history has none", async () => {
  const { database } = await readColumns("main");
  const keys = await database.query(
    `SELECT schema_name, table_name, constraint_column_names AS columns FROM duckdb_constraints()
     WHERE constraint_type = 'PRIMARY KEY' AND schema_name IN ('main', 'history')`,
    [],
    z.object({ schema_name: z.literal("main"), table_name: z.string(), columns: z.array(z.string()) }),
  );
  expect(Object.fromEntries(keys.map((key) => [key.table_name, key.columns]))).toEqual(
    Object.fromEntries(TABLE_NAMES.map((name) => [name, tableSpec(name).key])),
  );
});

test("migrating again applies nothing", async () => {
  const database = await freshDatabase();
  expect(await migrate(database, NOW)).toEqual(readMigrations().map(({ name }) => name));
  expect(await migrate(database, NOW)).toEqual([]);
});

test("a migration whose text was edited after it was applied is refused", async () => {
  const database = await freshDatabase();
  await migrate(database, NOW, [migration("0001_a.sql", "CREATE TABLE a (x INTEGER)")]);
  const edited = [migration("0001_a.sql", "CREATE TABLE a (x BIGINT)")];
  await expect(migrate(database, NOW, edited)).rejects.toSatisfy((error) => isCode(error, "MIGRATION_CHANGED"));
});

test("a file with a migration that this program does not know is refused as newer", async () => {
  const database = await freshDatabase();
  const first = migration("0001_a.sql", "CREATE TABLE a (x INTEGER)");
  await migrate(database, NOW, [first, migration("0002_b.sql", "CREATE TABLE b (x INTEGER)")]);
  await expect(migrate(database, NOW, [first])).rejects.toSatisfy((error) => isCode(error, "WAREHOUSE_NEWER"));
});

test("a migration that fails half-way leaves nothing behind and can be applied later", async () => {
  const database = await freshDatabase();
  const failing = [migration("0001_a.sql", "CREATE TABLE a (x INTEGER); SELECT no_such_function()")];
  await expect(migrate(database, NOW, failing)).rejects.toThrow(/no_such_function/);
  expect(await migrate(database, NOW, [migration("0001_a.sql", "CREATE TABLE a (x INTEGER)")])).toEqual(["0001_a.sql"]);
});

test("line ends do not change a migration's checksum on disk", () => {
  for (const { sql } of readMigrations()) expect(sql).not.toContain("\r");
});
