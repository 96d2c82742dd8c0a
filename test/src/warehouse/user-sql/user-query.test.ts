// SQL of users runs in a process of its own: it writes nothing, ends in time, and its end harms nobody.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { runQuery } from "../../../../src/warehouse/read/query.ts";
import {
  createQueryProcesses,
  type QueryProcesses,
  runUserQuery,
  type SqlSource,
} from "../../../../src/warehouse/user-sql/user-query.ts";
import { tempDir } from "../temp-dir.ts";

const LIMITS = { timeMs: 600_000, memoryMiB: 256 };

let dir: string;
let snapshot: string;
beforeEach(async () => {
  dir = tempDir();
  snapshot = join(dir, "warehouse.duckdb");
  const database = await openDatabase(snapshot);
  await database.run("CREATE TABLE t AS SELECT 1 AS x");
  await database.close();
});

let processes: QueryProcesses | null = null;
afterEach(async () => {
  await processes?.close();
  processes = null;
});

test("values come out exactly as from a query in process", async () => {
  const sql = `SELECT 9007199254740993 AS big, TIMESTAMPTZ '2024-01-02 03:04:05.678901+02' AS at, ['a', NULL] AS list,
    '{"a":1}'::JSON AS doc, 'NaN'::DOUBLE AS nan, {'k': 1} AS pair, DATE '2024-02-03' AS day, NULL AS nothing`;
  const { columns, rows } = await runUserQuery({ snapshot, sql }, LIMITS, "box");
  expect({ columns, rows }).toEqual(await runQuery({ snapshot, sql }));
});

test.each([
  "PRAGMA table_info(error('EVALUATED'))",
  "SELECT 1; PRAGMA table_info(error('EVALUATED'))",
  "EXPLAIN (FORMAT json) PRAGMA table_info(error('EVALUATED'))",
  "PRAGMA json_execute_serialized_sql('{}')",
])("nothing of a text is evaluated before the gate: %s", async (sql) => {
  await expect(runUserQuery({ snapshot, sql }, LIMITS, "box")).rejects.toMatchObject({
    code: expect.stringMatching(/^(SQL_REFUSED|QUERY_FAILED)$/),
    message: expect.not.stringMatching(/EVALUATED'|Invalid Input Error|parsing json/),
  });
});

test("many rows stream in order, in answers of bounded size", async () => {
  processes = createQueryProcesses(LIMITS, "box");
  let next = 0;
  let largest = 0;
  await processes.stream({ snapshot, sql: "SELECT range AS n FROM range(100000)" }, async ({ batches }) => {
    for await (const batch of batches) {
      largest = Math.max(largest, batch.length);
      const expected = Array.from(batch, (_, index) => [next + index]);
      expect(batch).toEqual(expected);
      next += batch.length;
    }
  });
  expect(next).toBe(100_000);
  expect(largest).toBeLessThan(50_000);
});

test("a statement that fails after its first rows fails, with the reason: half of a result never counts as whole", async () => {
  const sql = "SELECT (CASE WHEN i = 900000 THEN 'x' ELSE '1' END)::INT AS n FROM range(1000000) t(i)";
  for (const source of ["box", "owner"] as const) {
    await expect(runUserQuery({ snapshot, sql }, LIMITS, source)).rejects.toMatchObject({
      code: "QUERY_FAILED",
      message: expect.stringContaining("Could not convert string 'x' to INT32"),
    });
  }
});

test("a reader that leaves ends one long function call at once", async () => {
  processes = createQueryProcesses(LIMITS, "box");
  const leave = new AbortController();
  const sql = "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))";
  const running = processes.stream({ snapshot, sql, signal: leave.signal }, async () => undefined);
  leave.abort(new DuckmirrorError("INTERRUPTED"));
  await expect(running).rejects.toMatchObject({ code: "INTERRUPTED" });
});

test("a row with too many characters is refused, and the next statement runs", async () => {
  const most = { ...LIMITS, rowCharacters: 1_000_000 };
  const run = (sql: string) => runUserQuery({ snapshot, sql }, most, "box");
  const refused = { code: "QUERY_LIMIT", message: expect.stringContaining("more than 1 million characters") };
  await expect(run("SELECT repeat('x', 1000001)")).rejects.toMatchObject(refused);
  // Longer than any string of Node.
  await expect(run("SELECT repeat('x', 600000000)")).rejects.toMatchObject({ code: "QUERY_LIMIT" });
  expect(await run("SELECT length(repeat('x', 900000)) AS n")).toMatchObject({ rows: [[900_000]] });
});

test("a snapshot with a planted WAL is refused", async () => {
  writeFileSync(`${snapshot}.wal`, "anything");
  await expect(runUserQuery({ snapshot, sql: "FROM t" }, LIMITS, "box")).rejects.toMatchObject({
    code: "SNAPSHOT_DAMAGED",
  });
});

test("no snapshot, no process", async () => {
  const nowhere = join(dir, "none.duckdb");
  await expect(runUserQuery({ snapshot: nowhere, sql: "SELECT 1" }, LIMITS, "box")).rejects.toMatchObject({
    code: "SNAPSHOT_MISSING",
  });
});

test("the gate is for others than the owner, and off refuses everybody else", async () => {
  const run = (source: SqlSource, sql: string) => runUserQuery({ snapshot, sql }, LIMITS, source);
  expect(await run("owner", "CREATE TEMP TABLE s AS SELECT 7 AS n")).toBeDefined();
  for (const source of ["box", "trusted"] as const) {
    await expect(run(source, "CREATE TEMP TABLE s AS SELECT 7 AS n")).rejects.toMatchObject({ code: "SQL_REFUSED" });
    expect(await run(source, "EXPLAIN SELECT 7")).toMatchObject({ columns: [{}, {}] });
  }
  await expect(run("off", "SELECT 7")).rejects.toMatchObject({ code: "USER_SQL_OFF" });
});

test("a snapshot that a publish replaced is read anew by the process that waits for it", async () => {
  processes = createQueryProcesses(LIMITS, "box", { spare: true });
  const rows = async () =>
    processes?.stream({ snapshot, sql: "FROM t" }, async ({ batches }) => {
      const found: unknown[] = [];
      for await (const batch of batches) found.push(...batch);
      return found;
    });
  expect(await rows()).toEqual([[1]]);
  const next = `${snapshot}.next`;
  const database = await openDatabase(next);
  await database.run("CREATE TABLE t AS SELECT 2 AS x");
  await database.close();
  renameSync(next, snapshot);
  expect(await rows()).toEqual([[2]]);
});

test("a fault of the engine ends the statement and is counted; the next one runs", async () => {
  let crashes = 0;
  processes = createQueryProcesses(LIMITS, "owner", { onCrash: () => (crashes += 1) });
  const run = (sql: string) => processes?.stream({ snapshot, sql }, async () => "answered");
  await expect(run("SELECT lag(1, -9223372036854775808) OVER ()")).rejects.toMatchObject({ code: "QUERY_LIMIT" });
  expect(crashes).toBe(1);
  expect(await run("FROM t")).toBe("answered");
});

test("no extension can be loaded or installed", async () => {
  const run = (sql: string) => runUserQuery({ snapshot, sql }, LIMITS, "owner");
  const extension = join(dir, "ducklake.duckdb_extension");
  writeFileSync(extension, "");
  for (const sql of [`LOAD '${extension}'`, "LOAD ducklake", "INSTALL ducklake", "ATTACH 'ducklake:x' AS lake"]) {
    await expect(run(sql), sql).rejects.toMatchObject({ code: "QUERY_FAILED" });
  }
});

test("a result of 600 MB that memory does not hold is refused as too much, whoever noticed", async () => {
  const limits = { timeMs: 600_000, memoryMiB: 64 };
  const sql = "SELECT repeat('x', 1000000) AS text FROM range(600)";
  await expect(runUserQuery({ snapshot, sql }, limits, "box")).rejects.toMatchObject({ code: "QUERY_LIMIT" });
});
