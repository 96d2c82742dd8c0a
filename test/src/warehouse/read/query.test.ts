import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { isCode } from "../../../../src/core/errors.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { runQuery, streamQuery } from "../../../../src/warehouse/read/query.ts";
import { dirForFile, tempDir } from "../temp-dir.ts";

const fill = async (file: string, sql: string) => {
  const database = await openDatabase(file);
  await database.run(sql);
  await database.close();
};
const aSnapshot = async (sql: string) => {
  const file = join(tempDir(), "warehouse.duckdb");
  await fill(file, sql);
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

test("a decimal with more digits than a number holds is text, so that no digit is lost", async () => {
  const snapshot = await aSnapshot("CREATE TABLE t AS SELECT 1 AS x");
  const sql = `SELECT 12345678901234567890.1234567891::DECIMAL(38,10) AS long, sum(m)::DECIMAL(38,2) AS total, -0.10::DECIMAL(3,2) AS short
    FROM (VALUES (90071992547409.93::DECIMAL(20,2)), (0.01)) AS v(m)`;
  const { rows } = await runQuery({ snapshot, sql });
  expect(rows).toEqual([["12345678901234567890.1234567891", "90071992547409.94", -0.1]]);
});

const ATTACKS: readonly (readonly [name: string, sql: (dir: string) => string])[] = [
  ["another file as text", (dir) => `SELECT * FROM read_text('${dir}/secret.txt')`],
  ["another file as bytes", (dir) => `SELECT * FROM read_blob('${dir}/secret.txt')`],
  ["another file as CSV", (dir) => `SELECT * FROM read_csv('${dir}/secret.csv')`],
  ["another file as JSON", (dir) => `SELECT * FROM read_json('${dir}/secret.json')`],
  ["another file as Parquet", (dir) => `SELECT * FROM read_parquet('${dir}/secret.parquet')`],
  ["what a Parquet file says of itself", (dir) => `SELECT * FROM parquet_metadata('${dir}/secret.parquet')`],
  ["what a CSV file looks like", (dir) => `SELECT * FROM sniff_csv('${dir}/secret.csv')`],
  ["a file given as a table", (dir) => `SELECT * FROM '${dir}/secret.csv'`],
  ["a database given as a table", (dir) => `SELECT * FROM '${dir}/other.duckdb'`],
  ["a file through a function's default", (dir) => `SELECT (SELECT content FROM read_text('${dir}/' || 'secret.txt'))`],
  ["the names of files", (dir) => `SELECT * FROM glob('${dir}/*')`],
  ["the network", () => "SELECT * FROM read_csv('https://example.com/x.csv')"],
  ["a bucket", () => "SELECT * FROM 's3://bucket/x.parquet'"],
  ["writing a file", (dir) => `COPY (SELECT 1) TO '${dir}/out.csv'`],
  ["writing the whole database", (dir) => `EXPORT DATABASE '${dir}/out'`],
  ["reading a whole database", (dir) => `IMPORT DATABASE '${dir}'`],
  ["loading a file into a table", (dir) => `COPY t FROM '${dir}/secret.csv'`],
  ["attaching a file", (dir) => `ATTACH '${dir}/other.duckdb'`],
  ["attaching memory", () => "ATTACH ':memory:' AS other"],
  ["copying into an attached file", (dir) => `ATTACH '${dir}/out.duckdb' AS o; COPY FROM DATABASE warehouse TO o`],
  ["detaching the snapshot", () => "DETACH warehouse"],
  ["an environment variable", () => "SELECT getenv('HOME')"],
  ["changing a setting", () => "SET enable_external_access = true"],
  ["resetting a setting", () => "RESET enable_external_access"],
  ["changing a setting for all", () => "SET GLOBAL lock_configuration = false"],
  ["changing a setting by pragma", () => "PRAGMA enable_external_access = true"],
  ["allowing a folder", (dir) => `SET allowed_directories = ['${dir}']`],
  ["where extensions lie", (dir) => `SET extension_directory = '${dir}'`],
  ["a log file", (dir) => `SET log_query_path = '${dir}/log'`],
  ["a profile written to a file", (dir) => `PRAGMA profiling_output = '${dir}/profile'`],
  ["where DuckDB spills to", (dir) => `SET temp_directory = '${dir}/spill'`],
  ["installing an extension", () => "INSTALL httpfs"],
  ["loading an extension", () => "LOAD httpfs"],
  ["loading a library", (dir) => `LOAD '${dir}/evil.duckdb_extension'`],
  ["keeping a secret", (dir) => `CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b', SCOPE '${dir}')`],
  ["changing rows", () => "INSERT INTO t VALUES (2)"],
  ["deleting rows", () => "DELETE FROM t"],
  ["a new table", () => "CREATE TABLE u AS SELECT 1"],
  ["dropping a table", () => "DROP TABLE t"],
  ["secrets of DuckDB", () => "SELECT * FROM duckdb_secrets()"],
  ["a second statement", (dir) => `SELECT 1; COPY (SELECT 1) TO '${dir}/out.csv'`],
  ["a second statement behind a comment", (dir) => `SELECT 1 /* */;-- \n ATTACH '${dir}/other.duckdb' AS o; FROM o.t`],
  ["a prepared statement", (dir) => `PREPARE p AS COPY (SELECT 1) TO '${dir}/out.csv'; EXECUTE p`],
  ["SQL in a string", (dir) => `FROM query('FROM read_text(''${dir}/secret.txt'')')`],
  ["a table's name in a string", (dir) => `FROM query_table('${dir}/secret.csv')`],
  ["a mistake", () => "SELECT nothing_like_it FROM t"],
];

describe("a query", () => {
  const root = dirForFile();
  const [snapshot, dir] = [join(root, "warehouse.duckdb"), join(root, "beside")];
  let before: Buffer;
  beforeAll(async () => {
    mkdirSync(dir);
    await fill(snapshot, "CREATE TABLE t AS SELECT 1 AS x");
    before = readFileSync(snapshot);
    writeFileSync(join(dir, "secret.txt"), "secret");
    writeFileSync(join(dir, "secret.csv"), "a\n1\n");
    writeFileSync(join(dir, "secret.json"), '{"a":1}');
    await fill(join(dir, "other.duckdb"), `CREATE TABLE t AS SELECT 1 AS x; COPY t TO '${dir}/secret.parquet'`);
  });

  test.each(ATTACKS)("that wants %s is refused", async (_, sql) => {
    const files = readdirSync(dir).sort();
    await expect(runQuery({ snapshot, sql: sql(dir) })).rejects.toSatisfy((error) => isCode(error, "QUERY_FAILED"));
    expect(readdirSync(dir).sort()).toEqual(files);
    expect(readFileSync(snapshot).equals(before)).toBe(true);
  });
});

test("a query sees no file that is attached beside the snapshot", async () => {
  const snapshot = await aSnapshot("CREATE TABLE t AS SELECT 1 AS x");
  const attached = "SELECT count(*) FROM duckdb_databases() WHERE NOT internal AND path IS NOT NULL";
  expect((await runQuery({ snapshot, sql: attached })).rows).toEqual([[1]]);
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

test("a query that fails after its first rows fails: half of a result never counts as whole", async () => {
  const snapshot = await aSnapshot("CREATE TABLE t AS SELECT 1 AS x");
  const sql = "SELECT (CASE WHEN i = 900000 THEN 'x' ELSE '1' END)::INT AS n FROM range(1000000) t(i)";
  await expect(runQuery({ snapshot, sql })).rejects.toMatchObject({ code: "QUERY_FAILED" });
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
