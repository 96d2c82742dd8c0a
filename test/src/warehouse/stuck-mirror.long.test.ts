// A mirror that an earlier version left stuck: DuckDB was held to 64 MB, CHECKPOINT failed fatally for want of memory,
// and the WAL stayed for the next process, which failed likewise. The next process moves the WAL into the file and
// publishes, as `sync` does. Shows P29.
import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { isCode } from "../../../src/core/errors.ts";
import { type Database, openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { openWarehouse } from "../../../src/warehouse/file/warehouse.ts";
import { tempDir } from "./temp-dir.ts";

const ROWS = 300;
const tableRow = z.object({ path: z.string(), columns: z.array(z.string()), types: z.array(z.string()) });
const countRow = z.object({ n: z.number() });

const cellOf = (column: string, type: string): string => {
  const text = `md5(concat(i, '${column}'))`;
  if (type === "VARCHAR") return text;
  if (type === "VARCHAR[]") return `[${text}]`;
  if (type === "JSON") return `concat('{"a":"', ${text}, '"}')`;
  if (type.startsWith("TIMESTAMP")) return "TIMESTAMPTZ '2026-01-01' + INTERVAL 1 SECOND * i";
  return `CAST(1000000 + i AS ${type})`;
};

const tablesOf = (database: Database) =>
  database.query(
    `SELECT schema_name || '.' || table_name AS path, list(column_name ORDER BY column_index) AS columns,
       list(data_type ORDER BY column_index) AS types
     FROM duckdb_columns() WHERE schema_name IN ('main', 'history') AND NOT internal
       AND table_name IN (SELECT table_name FROM duckdb_tables()) GROUP BY ALL ORDER BY 1`,
    [],
    tableRow,
  );

/** Rows in every table, some deleted again: the checkpoint has to touch every column of the mirror. */
const touchEveryColumn = async (database: Database) => {
  const tables = await tablesOf(database);
  for (let round = 0; round < 4; round += 1) {
    const range = `range(${round * ROWS}, ${(round + 1) * ROWS})`;
    for (const { path, columns, types } of tables) {
      const values = columns.map((column, index) => cellOf(column, types[index] ?? ""));
      await database.run(`INSERT INTO ${path} SELECT ${values.join(", ")} FROM ${range} AS r(i)`);
      if (round > 0) await database.run(`DELETE FROM ${path} WHERE rowid % 3 = 0`);
    }
    if (round < 3) await database.flushWal();
  }
};

const countAll = async (database: Database) => {
  const counts: Record<string, number | undefined> = {};
  for (const { path } of await tablesOf(database)) {
    counts[path] = (await database.query(`SELECT count(*) AS n FROM ${path}`, [], countRow))[0]?.n;
  }
  return counts;
};

test("a mirror whose checkpoint failed at 64 MB is published by the next process, whole", async () => {
  const dataDir = tempDir();
  await (await openWarehouse({ dataDir, clock: systemClock })).close();
  const working = join(dataDir, "state", "working.duckdb");
  const old = await openDatabase(working, { threads: 1 });
  await old.run("SET GLOBAL checkpoint_threshold = '1TB'");
  await touchEveryColumn(old);
  const held = await countAll(old);
  await old.run("SET GLOBAL memory_limit = '64MB'");
  await expect(old.flushWal()).rejects.toSatisfy((error) => isCode(error, "NO_MEMORY") && /FATAL/.test(error.message));
  await old.close();
  expect(statSync(`${working}.wal`).size).toBeGreaterThan(0);

  // From 48 MiB up: whatever DuckDB starts with, it goes on with more.
  const memory = { startBytes: 48 * 2 ** 20, ceilingBytes: 2 ** 30 };
  const warehouse = await openWarehouse({ dataDir, clock: systemClock, memory });
  onTestFinished(() => warehouse.close());
  await warehouse.publish();
  const published = await openDatabase(warehouse.snapshot, { readOnly: true });
  onTestFinished(() => published.close());
  expect(await countAll(published)).toEqual(held);
});
