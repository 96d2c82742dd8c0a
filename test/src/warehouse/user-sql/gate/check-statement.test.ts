// The gate: which statements of a user may run at all.
import { readdirSync } from "node:fs";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { programFile } from "../../../../../src/core/program-files.ts";
import { sqlText } from "../../../../../src/warehouse/duckdb/sql-files.ts";
import {
  COLLATIONS,
  checkStatement,
  EXPRESSIONS,
  REFUSED_VIEWS,
  Refused,
  TABLE_FUNCTIONS,
  TYPE_NAMES,
} from "../../../../../src/warehouse/user-sql/gate/check-statement.ts";
import { REFUSED_EXPRESSIONS, REFUSED_TABLE_FUNCTIONS, REFUSED_TYPES } from "./judged.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  const instance = await DuckDBInstance.create(":memory:");
  connection = await instance.connect();
  await connection.run(`CREATE TABLE t AS SELECT 1 AS a, 'x' AS b; CREATE SCHEMA "asof";
    CREATE MACRO "asof".t(moment) AS TABLE SELECT * FROM t;
    CREATE MACRO "asof".planted(moment := getvariable('x')) AS TABLE SELECT * FROM t;
    CREATE MACRO "asof".more(moment, x := getvariable('x')) AS TABLE SELECT * FROM t`);
});
afterAll(() => connection.closeSync());

const outcome = (sql: string): Promise<string> =>
  checkStatement(connection, sql).catch((error: unknown) =>
    error instanceof Refused ? `refused: ${error.message}` : `error: ${String(error)}`,
  );

test.each([
  "SELECT 1",
  "select 1;",
  "FROM t",
  "WITH x AS (SELECT * FROM t) SELECT count(*) FROM x",
  "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) FROM r",
  "DESCRIBE t",
  "SHOW TABLES",
  "SHOW ALL TABLES",
  "SUMMARIZE t",
  "VALUES (1), (2)",
  "SELECT lag(a) OVER (ORDER BY a), lead(a, 2) OVER (), row_number() OVER () FROM t",
  "SELECT a::DECIMAL(9, 2), to_json(b)::JSON, [1, 2]::BIGINT[], {'k': 1}, MAP {1: 2}, x'00'::BLOB, now() AT TIME ZONE 'UTC' FROM t",
  "SELECT list_transform([1, 2], lambda x: x + 1), regexp_matches(b, 'x'), b LIKE '%x' FROM t",
  "FROM t PIVOT (sum(a) FOR b IN ('x', 'y'))",
  "SELECT * FROM range(3), json_each('[1]'), unnest([1])",
  'FROM "asof".t(now())',
  "SELECT 1e400, -1e400, '1e400 \\\" Infinity', a FROM t",
  `SELECT from_json('{"a": [1]}', '{"a": ["INT"]}').a, json_transform('1', '"DECIMAL(9, 2)"')`,
  "SELECT unnest([1, 2]), unnest({'a': 1})",
  "SELECT count(*), grouping(a) FROM t GROUP BY CUBE (a)",
  "SELECT column_name FROM duckdb_columns() UNION SELECT table_name FROM information_schema.tables",
])("runs as it is: %s", async (sql) => {
  expect(await outcome(sql)).toBe(sql);
  await connection.run(sql);
});

test.each([
  ["EXPLAIN SELECT 1", "EXPLAIN  SELECT 1"],
  ["-- why\nexplain analyze FROM t", "explain analyze  FROM t"],
  ["/* a */ EXPLAIN (FORMAT JSON) SELECT 1", "EXPLAIN (FORMAT JSON)  SELECT 1"],
])("explains what may run: %s", async (sql, runs) => {
  expect(await outcome(sql)).toBe(runs);
  await connection.run(runs);
});

test.each([
  "",
  "-- nothing",
  "SELECT 1; SELECT 2",
  "INSERT INTO t VALUES (2, 'y')",
  "CREATE TEMP TABLE s AS SELECT 1",
  "COPY t TO '/tmp/x'",
  "ATTACH '/tmp/x'",
  "SET memory_limit = '1GB'",
  "PRAGMA database_list",
  "CALL range(1)",
  "PREPARE p AS SELECT 1",
  "LOAD json",
  "EXPLAIN INSERT INTO t VALUES (2, 'y')",
  "EXPLAIN ANALYZE CREATE TABLE s AS SELECT 1",
  "EXPLAIN EXPLAIN SELECT 1",
  "EXPLAIN SELECT 1; DROP TABLE t",
  "/* /* */ EXPLAIN */ SELECT 1; DROP TABLE t",
])("only one statement that reads: %s", async (sql) => {
  expect(await outcome(sql)).toMatch(
    /^refused: (only one statement|these are \d+ statements)|^error: Error: (Failed to extract statements: )?Parser Error/,
  );
});

describe("what reaches outside, or takes raw values", () => {
  test.each([
    ["SELECT (any_value(b) EXPORT_STATE) FROM t", "states of aggregates"],
    ["SELECT (any_value(b) EXPORT_STATE)::BLOB FROM t", "states of aggregates"],
    ["SELECT finalize(b) FROM t", "finalize"],
    ["SELECT FINALIZE(b) FROM t", "finalize"],
    ['SELECT "Combine"(b, b) FROM t', "combine"],
    ["SELECT system.main.getvariable('x')", "getvariable"],
    ["FROM json_execute_serialized_sql('{}')", "json_execute_serialized_sql"],
    ["SELECT json_serialize_plan('FROM t')", "json_serialize_plan"],
    ["FROM arrow_scan(1, 2, 3)", "arrow_scan"],
    ["FROM query('DROP TABLE t')", "query"],
    ["FROM query_table('t')", "query_table"],
    ["FROM read_text('/etc/passwd')", "read_text"],
    ["SELECT * FROM t WHERE a IN (SELECT 1 FROM read_csv('x'))", "read_csv"],
    ["WITH x AS (FROM glob('*')) FROM x", "glob"],
    ["SELECT (SELECT content FROM read_blob('x'))", "read_blob"],
    ["DESCRIBE SELECT * FROM read_parquet('x')", "read_parquet"],
    ["SUMMARIZE SELECT * FROM parquet_metadata('x')", "parquet_metadata"],
    ["EXPLAIN FROM read_json('x')", "read_json"],
    ["SELECT list_transform(['x'], lambda p: getvariable(p))", "getvariable"],
    ["SELECT 1 ORDER BY finalize(1)", "finalize"],
    ["SELECT count(*) FILTER (finalize(1)) FROM t", "finalize"],
    ["SELECT sum(a) OVER (PARTITION BY finalize(b)) FROM t", "finalize"],
    ["FROM t PIVOT (finalize(a) FOR b IN ('x'))", "finalize"],
    ["VALUES (finalize(1))", "finalize"],
    ["FROM range(finalize(1))", "finalize"],
    ["SELECT 1 LIMIT finalize(1)", "finalize"],
    ["SELECT cast_to_type('1', NULL::POINTER)", "cast_to_type|pointer"],
    ["SELECT NULL::POINTER", "type pointer"],
    ["SELECT NULL::STRUCT(a POINTER[])", "type pointer"],
    ["SELECT NULL::AGGREGATE_STATE", "type aggregate_state"],
    ["SELECT TRY_CAST(a AS GEOMETRY) FROM t", "type geometry"],
    [`SELECT from_json('"A"', '"GEOMETRY"')`, "type geometry"],
    [`SELECT json_transform_strict('{"a": "A"}', '{"a": ["Geometry"]}')`, "type geometry"],
    [`SELECT json_transform('"A"', '"GEO' || 'METRY"')`, "structure of json_transform"],
    [`SELECT from_json('"A"', '"\\u0047EOMETRY"')`, "type geometry"],
    ["SELECT lag(1, -9223372036854775808) OVER ()", "offset of lag"],
    ["SELECT lead(a, a) OVER () FROM t", "offset of lag"],
    ["SELECT lag(1, 9223372036854775807) OVER ()", "offset of lag"],
    ['FROM "asof".nothing(now())', "no asof.nothing"],
    ['FROM "asof".planted()', "takes one moment"],
    ['FROM "asof".more(now())', "no asof.more"],
    ["FROM pragma_database_list", "view pragma_database_list"],
    ["SELECT path FROM main.duckdb_databases", "view duckdb_databases"],
    ["SUMMARIZE duckdb_databases", "view duckdb_databases"],
    ["SELECT (SELECT value FROM pg_catalog.PG_settings LIMIT 1)", "view pg_settings"],
    ["FROM \"asof\".read_text('x')", "no asof.read_text"],
  ])("%s", async (sql, because) => {
    expect(await outcome(sql)).toMatch(new RegExp(`^refused: .*(${because})`));
  });
});

test("views of DuckDB over functions that are not listed are refused, or known to show nothing of the machine", async () => {
  const harmless = new Set(["duckdb_indexes", "duckdb_sequences", "duckdb_dependencies"]);
  const views = await connection.runAndReadAll("SELECT view_name, sql FROM duckdb_views() WHERE internal");
  const over = views.getRows().flatMap(([name, sql]) => {
    const called = [...String(sql).matchAll(/\b(duckdb_\w+|pragma_\w+)\(/g)].map(([, found = ""]) => found);
    return called.some((found) => !TABLE_FUNCTIONS.has(found) && !harmless.has(found)) ? [String(name)] : [];
  });
  expect(over).toContain("pg_settings");
  // `pg_database` leaves the path out.
  expect(over.filter((name) => !REFUSED_VIEWS.has(name))).toEqual(["pg_database"]);
});

test("a text that is no SQL gets the parser's own message", async () => {
  expect(await outcome("SELEC 1")).toMatch(/Parser Error: syntax error at or near "SELEC"/);
});

const columnOf = async (sql: string): Promise<readonly string[]> =>
  (await connection.runAndReadAll(sql)).getRows().map(([name]) => String(name).toLowerCase());

test("every name of this DuckDB is judged: allowed, or refused with its kind", async () => {
  const expressions = await columnOf(`SELECT DISTINCT function_name FROM duckdb_functions()
    WHERE function_type IN ('scalar', 'aggregate', 'macro')`);
  const isRefused = (name: string) =>
    REFUSED_EXPRESSIONS.some((refused) => (typeof refused === "string" ? refused === name : refused.test(name)));
  const tables = await columnOf(`SELECT DISTINCT function_name FROM duckdb_functions()
    WHERE function_type IN ('table', 'table_macro') AND internal`);
  const types = await columnOf("SELECT DISTINCT type_name FROM duckdb_types()");
  const allowed = (name: string) => EXPRESSIONS.has(name) || COLLATIONS.test(name);
  expect(expressions.filter((name) => allowed(name) === isRefused(name))).toEqual([]);
  expect(tables.filter((name) => TABLE_FUNCTIONS.has(name) === REFUSED_TABLE_FUNCTIONS.has(name))).toEqual([]);
  expect(types.filter((name) => TYPE_NAMES.has(name) === REFUSED_TYPES.has(name))).toEqual([]);
  // Nothing is listed that this version lacks.
  expect([...EXPRESSIONS].filter((name) => !expressions.includes(name))).toEqual([]);
  expect([...TABLE_FUNCTIONS].filter((name) => !tables.includes(name))).toEqual([]);
});

test("every saved query passes as it is", async () => {
  const names = readdirSync(programFile("sql/queries/")).filter((name) => name.endsWith(".sql"));
  expect(names.length).toBeGreaterThanOrEqual(20);
  for (const name of names) {
    const sql = sqlText(`queries/${name}`);
    expect(await outcome(sql), name).toBe(sql);
  }
});
