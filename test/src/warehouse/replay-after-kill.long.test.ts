// Why DuckDB is 1.5.6 and not 1.5.5 (docs/decisions/lakes.md): after a kill, 1.5.5 cannot replay many rows that one
// transaction
// deleted and inserted again in a table with a primary key.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { tempDir } from "./temp-dir.ts";

const CHILD = `
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const connection = await (await DuckDBInstance.create(process.argv[1], { threads: "1" })).connect();
  for (const sql of [
    "CREATE TABLE t (id BIGINT PRIMARY KEY, version INTEGER)",
    "INSERT INTO t SELECT i, 0 FROM range(260000) r(i)",
    "CHECKPOINT",
    "SET wal_autocheckpoint = '1TB'",
    "BEGIN",
    "DELETE FROM t WHERE id < 130000",
    "INSERT INTO t SELECT i, 1 FROM range(130000) r(i)",
    "COMMIT",
    "BEGIN",
    "DELETE FROM t WHERE id BETWEEN 10000 AND 139999",
    "INSERT INTO t SELECT i, 2 FROM range(10000, 140000) r(i)",
    "COMMIT",
  ]) await connection.run(sql);
  process.kill(process.pid, "SIGKILL");
`;

test("rows that two transactions replaced, 130,000 each, are there after a kill, once by their key", async () => {
  const file = join(tempDir(), "killed.duckdb");
  const child = execFile(process.execPath, ["--input-type=module", "-e", CHILD, file]);
  const signal = await new Promise((resolve) => child.once("exit", (_code, by) => resolve(by)));
  expect(signal).toBe("SIGKILL");
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
  expect(await rows("SELECT version, count(*) FROM t GROUP BY ALL ORDER BY ALL")).toEqual([
    [0, "120000"],
    [1, "10000"],
    [2, "130000"],
  ]);
  expect(await rows("SELECT version FROM t WHERE id = 20000")).toEqual([[2]]);
  await expect(connection.run("INSERT INTO t VALUES (20000, 3)")).rejects.toThrow(/primary key/);
  await connection.run("DELETE FROM t WHERE id < 140000");
  await connection.run("CHECKPOINT");
  expect(await rows("SELECT count(*) FROM t")).toEqual([["120000"]]);
  connection.closeSync();
  instance.closeSync();
});
