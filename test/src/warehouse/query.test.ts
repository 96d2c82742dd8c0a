import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isCode } from "../../../src/core/errors.ts";
import { openDatabase } from "../../../src/warehouse/database.ts";
import { runQuery, streamQuery } from "../../../src/warehouse/query.ts";
import { tempDir } from "./temp-dir.ts";

const aSnapshot = async (sql: string) => {
  const file = join(tempDir(), "warehouse.duckdb");
  const database = await openDatabase(file);
  await database.run(sql);
  await database.close();
  return file;
};

test("a query answers with columns, types and exact values", async () => {
  const snapshot = await aSnapshot("CREATE TABLE t AS SELECT 1 AS x");
  const result = await runQuery({
    snapshot,
    sql: `SELECT 9007199254740993 AS big, 7 AS small, TIMESTAMPTZ '2024-01-02 03:04:05.678901+02' AS at, ['a', NULL] AS list,
          '{"a":1}'::JSON AS doc, 1.5::DECIMAL(5,2) AS price, DATE '2024-02-03' AS day, {'k': 1} AS pair, 'infinity'::TIMESTAMPTZ AS never`,
  });
  expect(result.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
    "big BIGINT",
    "small INTEGER",
    "at TIMESTAMP WITH TIME ZONE",
    "list VARCHAR[]",
    "doc JSON",
    "price DECIMAL(5,2)",
    "day DATE",
    'pair STRUCT("k" INTEGER)',
    "never TIMESTAMP WITH TIME ZONE",
  ]);
  expect(result.rows).toEqual([
    [
      9007199254740993n,
      7,
      "2024-01-02T01:04:05.678901Z",
      ["a", null],
      '{"a":1}',
      1.5,
      "2024-02-03",
      { k: 1 },
      "infinity",
    ],
  ]);
});

test.each([
  ["another file", (dir: string) => `SELECT * FROM read_text('${dir}/secret.txt')`],
  ["a file given as a table", (dir: string) => `SELECT * FROM '${dir}/secret.csv'`],
  ["writing a file", (dir: string) => `COPY (SELECT 1) TO '${dir}/out.csv'`],
  ["attaching a file", (dir: string) => `ATTACH '${dir}/other.duckdb'`],
  ["an environment variable", () => "SELECT getenv('HOME')"],
  ["changing a setting", () => "SET enable_external_access = true"],
  ["loading an extension", () => "INSTALL httpfs"],
  ["changing rows", () => "INSERT INTO t VALUES (2)"],
  ["a mistake", () => "SELECT nothing_like_it FROM t"],
])("%s is refused", async (_, sql) => {
  const snapshot = await aSnapshot("CREATE TABLE t AS SELECT 1 AS x");
  const dir = tempDir();
  writeFileSync(join(dir, "secret.txt"), "secret");
  writeFileSync(join(dir, "secret.csv"), "a\n1\n");
  const failure = runQuery({ snapshot, sql: sql(dir) });
  await expect(failure).rejects.toSatisfy((error) => isCode(error, "QUERY_FAILED"));
});

test("a snapshot that is not there, or is a directory, is named as missing", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, "warehouse.duckdb"));
  for (const snapshot of [join(dir, "none.duckdb"), join(dir, "warehouse.duckdb")]) {
    await expect(runQuery({ snapshot, sql: "SELECT 1" })).rejects.toSatisfy((error) =>
      isCode(error, "SNAPSHOT_MISSING"),
    );
  }
});

test("a large result streams: its first rows are there before its last are made", async () => {
  const snapshot = await aSnapshot("CREATE TABLE t AS SELECT 1 AS x");
  const first = await streamQuery(
    { snapshot, sql: "SELECT range AS n FROM range(1_000_000_000_000)" },
    async ({ batches }) => {
      for await (const batch of batches) return batch[0];
      return undefined;
    },
  );
  expect(first).toEqual([0]);
});

test("an aborted query ends, and the snapshot can be opened again", async () => {
  const snapshot = await aSnapshot("CREATE TABLE t AS SELECT 1 AS x");
  const abort = new AbortController();
  const sql = "SELECT count(*) FROM range(10_000_000_000) a, range(1000) b WHERE a.range % 7 = b.range % 5";
  const running = runQuery({ snapshot, sql, signal: abort.signal });
  setImmediate(() => setImmediate(() => abort.abort()));
  await expect(running).rejects.toBeInstanceOf(Error);
  expect((await runQuery({ snapshot, sql: "SELECT x FROM t" })).rows).toEqual([[1]]);
});
