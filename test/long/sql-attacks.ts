// Statements that should not work, by what they are after. `snapshot` is the path that `PRAGMA database_list` prints.

export interface Attack {
  readonly name: string;
  readonly sql: string;
}

type Places = { readonly snapshot: string; readonly dir: string };

const TARGETS = (at: Places) => [at.snapshot, `${at.dir}/new.txt`];

/** Every way of writing, to every place that DuckDB has ever let through. */
const writing = (at: Places): readonly Attack[] => {
  const ways: readonly (readonly [string, (path: string) => string])[] = [
    ["csv", (path) => `COPY (SELECT 'x') TO '${path}' (FORMAT csv)`],
    ["csv without a temporary file", (path) => `COPY (SELECT 'x') TO '${path}' (FORMAT csv, USE_TMP_FILE false)`],
    ["csv, overwriting", (path) => `COPY (SELECT 'x') TO '${path}' (FORMAT csv, OVERWRITE_OR_IGNORE true)`],
    ["json", (path) => `COPY (SELECT 'x') TO '${path}' (FORMAT json, USE_TMP_FILE false)`],
    ["parquet", (path) => `COPY (SELECT 'x') TO '${path}' (FORMAT parquet, USE_TMP_FILE false)`],
    ["blob", (path) => `COPY (SELECT from_hex('00ff')) TO '${path}' (FORMAT blob, USE_TMP_FILE false)`],
    ["partitions", (path) => `COPY (SELECT 1 AS a, 2 AS b) TO '${path}' (FORMAT csv, PARTITION_BY (a))`],
    ["per thread", (path) => `COPY (SELECT 1 AS a) TO '${path}' (FORMAT csv, PER_THREAD_OUTPUT true)`],
    ["file:// address", (path) => `COPY (SELECT 'x') TO 'file://${path}' (FORMAT csv, USE_TMP_FILE false)`],
    ["relative address", (path) => `COPY (SELECT 'x') TO '..${path}' (FORMAT csv, USE_TMP_FILE false)`],
    ["export", (path) => `EXPORT DATABASE '${path}'`],
    ["attach", (path) => `ATTACH '${path}' AS o`],
    ["attach, writable", (path) => `ATTACH '${path}' AS o (READ_ONLY false)`],
    ["log", (path) => `CALL enable_logging(storage='file', storage_path='${path}'); SELECT 1`],
    ["log by setting", (path) => `SET log_query_path = '${path}'; SELECT 1`],
    ["profile", (path) => `PRAGMA profiling_output = '${path}'; PRAGMA enable_profiling = 'json'; SELECT 1`],
    ["explain", (path) => `SET profiling_output = '${path}'; EXPLAIN ANALYZE SELECT 1`],
    ["temporary folder", (path) => `SET temp_directory = '${path}'; SELECT 1`],
    ["secret", (path) => `CREATE PERSISTENT SECRET s IN local_file (TYPE s3, KEY_ID '${path.length}')`],
    ["secret folder", (path) => `SET secret_directory = '${path}'`],
    ["extension folder", (path) => `SET extension_directory = '${path}'; INSTALL httpfs`],
  ];
  return TARGETS(at).flatMap((path, place) =>
    ways.map(([name, sql]) => ({ name: `writes ${name} to place ${place}`, sql: sql(path) })),
  );
};

const reading = (at: Places): readonly Attack[] =>
  [`${at.dir}/secret.txt`, "/proc/self/environ", `${at.dir}/*`].flatMap((path, place) =>
    [
      `SELECT * FROM read_text('${path}')`,
      `SELECT * FROM read_blob('${path}')`,
      `SELECT * FROM read_csv('${path}', columns={'a':'VARCHAR'}, delim='\\0')`,
      `SELECT * FROM read_json('${path}')`,
      `SELECT * FROM read_parquet('${path}')`,
      `SELECT * FROM parquet_metadata('${path}')`,
      `SELECT * FROM sniff_csv('${path}')`,
      `SELECT * FROM '${path}'`,
      `COPY t FROM '${path}'`,
      `IMPORT DATABASE '${path}'`,
      `ATTACH '${path}' AS o (READ_ONLY)`,
      `LOAD '${path}'`,
      `SELECT * FROM glob('${path}') WHERE length(file) > 0`,
      `CREATE TEMP TABLE x AS FROM read_text('${path}'); FROM x`,
    ].map((sql, way) => ({ name: `reads place ${place}, way ${way}`, sql })),
  );

const CHANGES = [
  "INSERT INTO t VALUES (2)",
  "DELETE FROM t",
  "UPDATE t SET x = 3",
  "DROP TABLE t",
  "CREATE TABLE main.u AS SELECT 1",
  "CREATE VIEW main.v AS SELECT 1",
  "ALTER TABLE t ADD COLUMN y INTEGER",
  "CHECKPOINT",
  "FORCE CHECKPOINT",
  "VACUUM t",
  "DETACH warehouse",
  "ATTACH ':memory:' AS o; COPY FROM DATABASE o TO warehouse",
  "SET lock_configuration = false",
  "SET GLOBAL disabled_filesystems = ''",
  "RESET GLOBAL disabled_filesystems",
  "SET enable_external_access = true",
  "SET allowed_directories = ['/']",
  "SET memory_limit = '100GB'",
  "RESET memory_limit",
  "SET threads = 1000",
  "SET GLOBAL temp_directory = '/tmp'",
  "SET autoinstall_known_extensions = true",
  "SET allow_unsigned_extensions = true",
  "SET custom_extension_repository = 'http://127.0.0.1'",
  "INSTALL httpfs",
  "LOAD httpfs",
  "SELECT getenv('HOME') FROM (SELECT 1) WHERE getenv('PATH') IS NOT NULL",
  "PRAGMA enable_checkpoint_on_shutdown",
  "PRAGMA force_checkpoint",
  "CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
] as const;

const changing: readonly Attack[] = CHANGES.map((sql) => ({ name: `changes: ${sql.slice(0, 60)}`, sql }));

const network: readonly Attack[] = [
  "SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')",
  "SELECT * FROM read_json('https://127.0.0.1:1/x.json')",
  "SELECT * FROM 's3://bucket/x.parquet'",
  "COPY (SELECT 1) TO 'http://127.0.0.1:1/x'",
  "ATTACH 'http://127.0.0.1:1/x.duckdb' AS o",
  "ATTACH 'postgres:host=127.0.0.1' AS o (TYPE postgres)",
].map((sql) => ({ name: `network: ${sql.slice(0, 60)}`, sql }));

/** Must be refused, and must leave every file as it was. */
export const refusedAttacks = (at: Places): readonly Attack[] => [
  ...writing(at),
  ...reading(at),
  ...changing,
  ...network,
];

/** Want more memory than there is: the statement ends, nothing else does. */
export const GREEDY: readonly Attack[] = [
  { name: "a text of two billion characters", sql: "SELECT printf('%2000000000d', 1)" },
  { name: "a sort of everything", sql: "SELECT * FROM range(2000000000) ORDER BY hash(range)" },
  { name: "a hash table of everything", sql: "SELECT range, count(*) FROM range(4000000000) GROUP BY range" },
  { name: "a list of all there is", sql: "SELECT list(range) FROM range(4000000000)" },
  {
    name: "a cross join kept",
    sql: "CREATE TEMP TABLE x AS SELECT a.range FROM range(1000000) a, range(100000) b; FROM x",
  },
  {
    name: "a text doubled and doubled",
    sql: "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT max(length(s)) FROM r",
  },
  {
    name: "a window over everything",
    sql: "SELECT max(s) FROM (SELECT sum(range) OVER (ORDER BY hash(range)) AS s FROM range(1000000000))",
  },
];

/** Take more time than there is, some in one call that DuckDB cannot interrupt. */
export const ENDLESS: readonly Attack[] = [
  { name: "levenshtein", sql: "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))" },
  {
    name: "a regular expression",
    sql: "SELECT count(*) FROM range(1000000000000) WHERE regexp_matches(range::VARCHAR, '^(1|2|3)*4$')",
  },
  { name: "a count to no end", sql: "SELECT count(*) FROM range(1000000000000000)" },
  {
    name: "a recursion without an end",
    sql: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT (n + 1) % 1000 FROM r) SELECT count(*) FROM r",
  },
  { name: "rows without an end", sql: "SELECT range FROM range(1000000000000)" },
];

const nested = (open: string, inner: string, close: string, depth: number) =>
  open.repeat(depth) + inner + close.repeat(depth);

/** Large or deep statements: the parser and the planner work on them before anything runs. */
export const HEAVY_PLANS: readonly Attack[] = [
  { name: "brackets", sql: `SELECT ${nested("(", "1", ")", 20_000)}` },
  { name: "subqueries", sql: nested("SELECT * FROM (", "SELECT 1", ")", 3000) },
  { name: "a list of many", sql: `SELECT 1 IN (${Array.from({ length: 20_000 }, (_, i) => i).join()})` },
  { name: "unions", sql: Array.from({ length: 3000 }, () => "SELECT 1").join(" UNION ALL ") },
  { name: "joins", sql: `SELECT count(*) FROM ${Array.from({ length: 60 }, (_, i) => `t t${i}`).join(", ")}` },
  { name: "CASE", sql: `SELECT ${nested("CASE WHEN true THEN ", "1", " END", 2000)}` },
];
