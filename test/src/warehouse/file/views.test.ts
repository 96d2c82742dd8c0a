import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { catalogTables } from "../../../../src/catalog/dictionary.ts";
import { LEDGER_TABLES } from "../../../../src/catalog/ledger-tables.ts";
import { TABLE_NAMES, VIEW_NAMES } from "../../../../src/catalog/tables.ts";
import { openWorld } from "../../../../src/sandbox/sandbox.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../../src/warehouse/file/migrate.ts";
import { applyViews } from "../../../../src/warehouse/file/views.ts";
import { tempDir } from "../temp-dir.ts";

const NOW = Date.UTC(2025, 0, 1);
const folder = new URL("../../../../sql/views/", import.meta.url);
const anyRow = z.record(z.string(), z.unknown());

const migrated = async () => {
  const database = await openDatabase(join(tempDir(), "w.duckdb"), { threads: 1 });
  onTestFinished(() => database.close());
  await migrate(database, NOW);
  return database;
};

test("every file in sql/views is a view, says purpose, grain and readers, and selects no star", () => {
  expect(readdirSync(folder).sort()).toEqual(VIEW_NAMES.map((name) => `${name}.sql`).sort());
  for (const name of VIEW_NAMES) {
    const text = readFileSync(new URL(`${name}.sql`, folder), "utf8");
    expect(text).toMatch(/^-- Purpose: .*\n(-- .*\n)*-- Grain: .*\n(-- .*\n)*-- Readers: /);
    expect(text).toContain(`\nCREATE OR REPLACE VIEW marts.${name} AS\n`);
    expect(text).not.toMatch(/select\s+(\w+\.)?\*/i);
  }
});

test("views are made once, made again when their texts change, and those that are no longer known go", async () => {
  const database = await migrated();
  expect(await applyViews(database, NOW)).toBe(true);
  expect(await applyViews(database, NOW)).toBe(false);
  await database.run("UPDATE sync.views SET checksum = 'of an older program'");
  await database.run("CREATE VIEW marts.retired AS SELECT 1 AS x");
  await database.run("CREATE OR REPLACE VIEW marts.freshness AS SELECT 'old' AS table_name");
  expect(await applyViews(database, NOW)).toBe(true);
  const views = await database.query(
    "SELECT view_name FROM duckdb_views() WHERE schema_name = 'marts' ORDER BY 1",
    [],
    anyRow,
  );
  expect(views.map((row) => row.view_name)).toEqual([...VIEW_NAMES].sort());
  expect(await database.query("SELECT count(*) AS n FROM marts.freshness", [], anyRow)).toEqual([
    { n: TABLE_NAMES.length },
  ]);
});

test("every view, table of main and column of both carries a comment", async () => {
  const database = await migrated();
  await applyViews(database, NOW);
  const bare = await database.query(
    `SELECT schema_name || '.' || table_name || '.' || column_name AS name FROM duckdb_columns()
     WHERE schema_name IN ('main', 'marts') AND coalesce(comment, '') = '' AND NOT internal
     UNION ALL SELECT view_name FROM duckdb_views() WHERE schema_name = 'marts' AND comment IS NULL
     UNION ALL SELECT table_name FROM duckdb_tables() WHERE schema_name IN ('main', 'history') AND comment IS NULL`,
    [],
    anyRow,
  );
  expect(bare).toEqual([]);
  const [found] = await database.query(
    "SELECT comment FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = 'accounts' AND column_name = 'priority'",
    [],
    anyRow,
  );
  expect(found?.comment).toBe("1 high, 2 medium, 3 low. Values: 1, 2, 3.");
});

test("the described tables have exactly the columns and types of the warehouse", async () => {
  const database = await migrated();
  for (const table of catalogTables()) {
    const columns = await database.query(
      "SELECT column_name AS name, replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') AS type FROM duckdb_columns() WHERE schema_name = $1 AND table_name = $2",
      [table.schema, table.name],
      z.object({ name: z.string(), type: z.string() }),
    );
    // A migration adds a column behind all others, wherever the API's document has the field.
    const named = (of: readonly { readonly name: string; readonly type: string | null }[]) =>
      of.map(({ name, type }) => (table.schema === "sync" ? name : `${name} ${type}`)).sort();
    expect(named(columns), table.name).toEqual(named(table.columns));
  }
  expect(LEDGER_TABLES.length).toBeGreaterThan(5);
});

test("every view answers the same whatever the time zone of the session, also on generated data", async () => {
  const world = await openWorld({ seed: 7, accounts: 6, now: Date.UTC(2025, 5, 1), bigIds: true, threads: 1 });
  onTestFinished(() => world.close());
  await applyViews(world.database, NOW);
  const hashes = (zone: string) =>
    world.database.transaction(async (tx) => {
      await tx.run(`SET TimeZone = '${zone}'`);
      const answers: Record<string, unknown> = {};
      for (const name of VIEW_NAMES.filter((view) => view !== "freshness")) {
        const [row] = await tx.query(`SELECT count(*) AS n, bit_xor(hash(v)) AS h FROM marts.${name} AS v`, [], anyRow);
        answers[name] = row;
      }
      return answers;
    });
  const utc = await hashes("UTC");
  expect(utc.account_360).toMatchObject({ n: 6 });
  expect(await hashes("Pacific/Auckland")).toEqual(utc);
  expect(await hashes("America/Los_Angeles")).toEqual(utc);
});
