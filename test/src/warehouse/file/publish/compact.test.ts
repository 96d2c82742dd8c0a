// A publish rewrites a working file of which a third is unused; a rewrite that fails leaves the file and publishes it.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Warehouse } from "../../../../../src/warehouse/file/warehouse.ts";
import { aWarehouse, oneRow } from "../../builders.ts";
import { tempDir } from "../../temp-dir.ts";

/** Versions in history, about 350 bytes each that hardly compress. */
const fill = (warehouse: Warehouse, rows: number) =>
  warehouse.database.run(
    `INSERT INTO history.signals (id, account_id, type, headline, description, _synced_at, _run_id, _first_synced_at, valid_from, valid_to, change)
     SELECT i, 1, 'podcast', md5(i::VARCHAR), md5((i * 7)::VARCHAR) || md5((i * 3)::VARCHAR), now(), 'r', now(), now(), now(), 'update'
     FROM range(${rows}) AS t(i)`,
  );

const sumOf = (warehouse: Warehouse) =>
  oneRow(warehouse, "SELECT count(*) AS n, sum(hash(t)::HUGEINT)::VARCHAR AS sums FROM history.signals AS t");

test("a file of which a third is unused is published as it is if a rewrite fails, and later in less space with the same rows", async () => {
  const dataDir = tempDir();
  const warehouse = await aWarehouse(dataDir);
  const run = (sql: string) => warehouse.database.run(sql);
  // DuckDB copies tables in the order of their names, and so refuses this one.
  await run("CREATE TABLE main.zz (a INTEGER PRIMARY KEY)");
  await run("CREATE TABLE main.aa (a INTEGER REFERENCES main.zz (a))");
  await run("INSERT INTO main.zz VALUES (1)");
  await run("INSERT INTO main.aa VALUES (1)");
  await fill(warehouse, 140_000);
  await warehouse.database.flushWal();
  // Rows behind them in the file, so that it cannot simply end earlier.
  await run("CREATE TABLE main.tail AS SELECT md5(i::VARCHAR) AS text FROM range(20000) AS t(i)");
  await warehouse.database.flushWal();
  await run("DELETE FROM history.signals WHERE id < 130000");
  await warehouse.database.flushWal();

  const before = await sumOf(warehouse);
  const failed = await warehouse.publish();
  expect(failed.compacted).toMatchObject({ bytesAfter: null, problem: expect.stringContaining("foreign key") });
  expect(await sumOf(warehouse)).toEqual(before);
  expect(statSync(warehouse.snapshot).size).toBe(failed.bytes);

  await run("DROP TABLE main.aa");
  const { bytes, compacted } = await warehouse.publish();
  expect(compacted?.problem).toBe(null);
  expect(compacted?.bytesAfter).toBeLessThan(((compacted?.bytesBefore ?? 0) * 2) / 3);
  // The header of a file is no block.
  expect(bytes - (compacted?.bytesAfter ?? 0)).toBeLessThan(20_000);
  expect(await sumOf(warehouse)).toEqual(before);
  expect(statSync(join(dataDir, "state", "working.duckdb")).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(dataDir, "state")).filter((name) => name.startsWith("new-"))).toEqual([]);
  // It is writable as before, and the next publish has nothing to rewrite.
  await fill(warehouse, 10);
  expect((await warehouse.publish()).compacted).toBe(null);
});

test("small files and files in use are left alone", async () => {
  const warehouse = await aWarehouse();
  expect((await warehouse.publish()).compacted).toBe(null);
  await fill(warehouse, 20_000);
  expect((await warehouse.publish()).compacted).toBe(null);
});

test("a file whose blocks in use are nearly empty is rewritten, though few of its blocks are unused", async () => {
  const warehouse = await aWarehouse();
  const tables = Array.from({ length: 12 }, (_, nth) => `main.extra_${nth}`);
  for (const table of tables)
    await warehouse.database.run(
      `CREATE TABLE ${table} AS SELECT i AS id, md5(i::VARCHAR) || md5((i * 7)::VARCHAR) AS text FROM range(6000) AS t(i)`,
    );
  const first = (await warehouse.publish()).bytes;
  const sizes: number[] = [];
  for (let round = 1; round <= 4; round += 1) {
    // Each table gets a block for the few rows that changed.
    for (const table of tables)
      await warehouse.database.run(`UPDATE ${table} SET text = text || 'x' WHERE id % 200 = ${round}`);
    sizes.push((await warehouse.publish()).bytes / first);
  }
  expect(Math.max(...sizes), sizes.join(", ")).toBeLessThanOrEqual(1.5);
});
