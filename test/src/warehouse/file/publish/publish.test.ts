import { existsSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../../../../src/warehouse/duckdb/database.ts";
import { runQuery } from "../../../../../src/warehouse/read/query.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse } from "../../builders.ts";
import { tempDir } from "../../temp-dir.ts";

const ids = { sql: "SELECT id FROM signals ORDER BY id" };
const idRow = z.object({ id: z.number() });

test("a snapshot holds what was committed, and a reader that has the old one open keeps it", async () => {
  const dataDir = tempDir();
  const warehouse = await aWarehouse(dataDir);
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1)])]));
  const first = await warehouse.publish();
  expect(first.path).toBe(join(dataDir, "warehouse.duckdb"));
  const reader = await openDatabase(first.path, { readOnly: true, lockedDown: true });
  onTestFinished(() => reader.close());
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(2)])]));
  await warehouse.publish();
  expect(await reader.query(ids.sql, [], idRow)).toEqual([{ id: 1 }]);
  expect((await runQuery({ snapshot: first.path, ...ids })).rows).toEqual([[1], [2]]);
  expect(readdirSync(dataDir).sort()).toEqual(["state", "warehouse.duckdb"]);
});

test("commits and queries that come while a publish is under way wait for it and succeed", async () => {
  const warehouse = await aWarehouse();
  const commits = [1, 2, 3].map((id) => warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(id)])])));
  const publishing = warehouse.publish();
  const later = warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(4)])]));
  const counted = warehouse.countRows("signals");
  await Promise.all([...commits, publishing, later, counted]);
  expect(await warehouse.countRows("signals")).toBe(4);
  const { path } = await publishing;
  // What was committed before the call is in it; a commit that came later may be.
  expect((await runQuery({ snapshot: path, ...ids })).rows.slice(0, 3)).toEqual([[1], [2], [3]]);
});

test("a working file that was taken away after a publish is missed, not made anew", async () => {
  const dataDir = tempDir();
  const warehouse = await aWarehouse(dataDir);
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1)])]));
  const { path } = await warehouse.publish();
  const working = join(dataDir, "state", "working.duckdb");
  renameSync(working, `${working}.away`);
  await expect(warehouse.countRows("signals")).rejects.toMatchObject({ code: "WAREHOUSE_CORRUPT" });
  expect(existsSync(working)).toBe(false);
  renameSync(`${working}.away`, working);
  expect(await warehouse.countRows("signals")).toBe(1);
  expect((await runQuery({ snapshot: path, ...ids })).rows).toEqual([[1]]);
});

test("a snapshot keeps its primary keys and opens in DuckDB 1.2", async () => {
  const warehouse = await aWarehouse();
  const { path } = await warehouse.publish();
  const keys = await runQuery({
    snapshot: path,
    sql: "SELECT constraint_column_names FROM duckdb_constraints() WHERE table_name = 'filings' AND schema_name = 'main' AND constraint_type = 'PRIMARY KEY'",
  });
  expect(keys.rows).toEqual([[["company_id", "id"]]]);
  const tags = await runQuery({ snapshot: path, sql: "SELECT tags FROM duckdb_databases() WHERE NOT internal" });
  expect(tags.rows[0]?.[0]).toMatchObject({ storage_version: expect.stringContaining("v1.2.0") });
});
