// `POST /api/download`: a whole result as a file, under the rules of every other SQL of users.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { z } from "zod";
import { catalogTables } from "../../../../src/catalog/dictionary.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { writeResultFile } from "../../../../src/warehouse/user-sql/result-file.ts";
import { afterTest } from "../../../support/after-test.ts";
import { dirForFile } from "../../warehouse/temp-dir.ts";
import { HERE, mirrorForFile, type ServedMirror } from "../served-mirror.ts";

const folder = dirForFile();
const mirror = await mirrorForFile(4);
const server = await mirror.server();
const database = await openDatabase(mirror.snapshot, { readOnly: true, threads: 1 });
afterAll(() => database.close());

const download = (sql: string, format: string) =>
  server.app.inject({ method: "POST", url: "/api/download", headers: HERE, payload: { sql, format } });

let files = 0;
/** The file of a download, for DuckDB to read. */
const fileOf = async (sql: string, format: string): Promise<string> => {
  const response = await download(sql, format);
  expect(response.statusCode, response.body.slice(0, 300)).toBe(200);
  const file = join(folder, `${++files}.${format}`);
  writeFileSync(file, response.rawPayload);
  return file;
};

const numberOf = async (sql: string): Promise<number> => {
  const [row] = await database.query(sql, [], z.object({ n: z.number() }));
  return row?.n ?? Number.NaN;
};

const tables = catalogTables()
  .filter(({ schema }) => schema === "main")
  .map(({ name }) => name);

test.each(tables)("the Parquet of all of %s holds the rows and types of the table", async (table) => {
  const file = await fileOf(`select * from main."${table}"`, "parquet");
  const [from, to] = [`main."${table}"`, `read_parquet('${file}')`];
  expect(await numberOf(`SELECT count(*) AS n FROM ${to}`)).toBe(await numberOf(`SELECT count(*) AS n FROM ${from}`));
  const both = `(FROM ${from} EXCEPT ALL FROM ${to}) UNION ALL (FROM ${to} EXCEPT ALL FROM ${from})`;
  expect(await numberOf(`SELECT count(*) AS n FROM (${both})`)).toBe(0);
});

test("CSV and JSON of a table hold every row", async () => {
  const rows = await numberOf("SELECT count(*) AS n FROM accounts");
  const csv = await fileOf("select id, name from accounts", "csv");
  const json = await fileOf("select id, name from accounts", "json");
  for (const from of [`read_csv('${csv}')`, `read_json('${json}')`]) {
    expect(await numberOf(`SELECT count(*) AS n FROM (FROM ${from} INTERSECT SELECT id, name FROM accounts)`)).toBe(
      await numberOf("SELECT count(*) AS n FROM (SELECT DISTINCT id, name FROM accounts)"),
    );
    expect(await numberOf(`SELECT count(*) AS n FROM ${from}`)).toBe(rows);
  }
});

test("Parquet keeps digits, gaps and times; what it has no type for is JSON text; two columns of one name stay two", async () => {
  const file = await fileOf(
    `select 9007199254740993 as big, 12345678901234567890123::hugeint as huge, 1.10::decimal(4,2) as money,
      null::integer as nothing, 'nan'::double as not_a_number, timestamptz '2026-01-02 03:04:05.123456+00' as at,
      ['a', null] as list, {'x': 1, 'y': [true]} as record, date '2026-01-02' as day, date 'infinity' as no_end, 'one' as name, 'two' as name,
      'it''s' as "a ""b"""`,
    "parquet",
  );
  const types = await database.query(
    `SELECT column_name AS name, column_type AS type FROM (DESCRIBE FROM read_parquet('${file}'))`,
    [],
    z.object({ name: z.string(), type: z.string() }),
  );
  expect(Object.fromEntries(types.map(({ name, type }) => [name, type]))).toEqual({
    big: "BIGINT",
    huge: "DECIMAL(38,0)",
    money: "DECIMAL(4,2)",
    nothing: "INTEGER",
    not_a_number: "DOUBLE",
    at: "TIMESTAMP WITH TIME ZONE",
    list: "VARCHAR[]",
    record: "VARCHAR",
    day: "DATE",
    no_end: "DATE",
    name: "VARCHAR",
    name_1: "VARCHAR",
    'a "b"': "VARCHAR",
  });
  const [row] = await database.query(
    `SELECT to_json(COLUMNS(*)::VARCHAR)::VARCHAR FROM read_parquet('${file}')`,
    [],
    z.record(z.string(), z.string().nullable()),
  );
  expect(Object.values(row ?? {}).map((text) => (text === null ? null : JSON.parse(text)))).toEqual([
    "9007199254740993",
    "12345678901234567890123",
    "1.10",
    null,
    "nan",
    "2026-01-02 03:04:05.123456+00",
    "[a, NULL]",
    '{"x":1,"y":[true]}',
    "2026-01-02",
    "infinity",
    "one",
    "two",
    "it's",
  ]);
});

test.each([
  ["copy (select 1) to '/tmp/x'", "SQL_REFUSED"],
  ["from read_csv('/etc/passwd')", "SQL_REFUSED"],
  ["select nope from accounts", "QUERY_FAILED"],
])("%s is refused as everywhere, and no part of a file is sent", async (sql, code) => {
  const response = await download(sql, "parquet");
  expect([response.statusCode, response.json().error.code]).toEqual([400, code]);
});

test("a number of 39 digits is no fault of the program in Parquet; CSV holds it", async () => {
  const value = "170141183460469231731687303715884105727::hugeint";
  const { statusCode, body } = await download(`select ${value}`, "parquet");
  expect([statusCode, JSON.parse(body).error.code]).toEqual([400, "QUERY_FAILED"]);
  expect(body).toContain("as CSV or JSON");
  expect(body).not.toMatch(/duckmirror-download-|1701411/);
  expect((await download(`select ${value}`, "csv")).statusCode).toBe(200);
});

test("a statement that fails after its first rows sends an error, not half of a file; nothing stays on the disk", async () => {
  const own = join(folder, "own");
  mkdirSync(own);
  vi.stubEnv("TMPDIR", own);
  afterTest(() => vi.unstubAllEnvs());
  const response = await download(
    "select (case when i = 900000 then 'x' else '1' end)::int from range(1000000) t(i)",
    "csv",
  );
  expect([response.statusCode, response.json().error.code]).toEqual([400, "QUERY_FAILED"]);
  await download("select 1", "parquet");
  expect(readdirSync(own)).toEqual([]);
});

test("what a killed server left is removed when the next one starts", async () => {
  const old = mkdtempSync(join(tmpdir(), "duckmirror-download-"));
  const recent = mkdtempSync(join(tmpdir(), "duckmirror-download-"));
  writeFileSync(join(old, "result.csv"), "ann@a.example");
  const before = Date.now() / 1000 - 2 * 3600;
  utimesSync(old, before, before);
  await (await mirror.server()).app.ready();
  expect([existsSync(old), existsSync(recent)]).toEqual([false, true]);
  rmSync(recent, { recursive: true });
});

/** Asks over a socket. */
const askAt = (port: number, sql: string) =>
  fetch(`http://127.0.0.1:${port}/api/download`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql, format: "csv" }),
  });
const listening = async (options: Parameters<ServedMirror["server"]>[0] = {}): Promise<number> => {
  const { app } = await mirror.server(options);
  return Number(new URL(await app.listen({ host: "127.0.0.1", port: 0 })).port);
};

test("the connection of a file that takes its time is not closed as idle", async () => {
  const port = await listening({ limits: { idleMs: 100 } });
  expect(await (await askAt(port, "select sum(i) as s from range(100000000) t(i)")).text()).toBe(
    "s\r\n4999999950000000\r\n",
  );
});

test("readers who let their files wait cannot fill the disk", async () => {
  const port = await listening();
  const large = "select repeat('x', 1000000) as text from range(30)";
  const waiting: Response[] = [];
  for (let nth = 0; nth < 4; nth++) waiting.push(await askAt(port, large));
  expect(waiting.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const refused = await askAt(port, "select 1 as one");
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining("BUSY")]);
  await waiting.pop()?.body?.cancel();
  await vi.waitFor(async () => expect((await askAt(port, "select 1 as one")).status).toBe(200), { timeout: 10_000 });
  for (const one of waiting) await one.body?.cancel();
});

test("two million rows take little memory", async () => {
  const start = process.memoryUsage().rss;
  let most = start;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  const sql = "select i as id, 'name ' || i as name, i / 7 as share from range(2000000) t(i)";
  const response = await download(sql, "parquet").finally(() => clearInterval(watch));
  expect(response.headers["x-duckmirror-rows"]).toBe("2000000");
  expect((most - start) / 2 ** 20 - response.rawPayload.length / 2 ** 20).toBeLessThan(300);
}, 120_000);

test("rows that are too large for a group of Parquet end as a limit", async () => {
  const batches = async function* () {
    for (let row = 0; row < 300; row++) yield [[`${row}${"x".repeat(2_000_000)}`]];
  };
  const limits = {
    format: "parquet" as const,
    folder: mkdtempSync(join(tmpdir(), "duckmirror-limit-")),
    mostBytes: 1e9,
  };
  const cursor = { columns: [{ name: "text", type: "VARCHAR" }], batches: batches() };
  await expect(writeResultFile(cursor, limits)).rejects.toMatchObject({
    code: "QUERY_LIMIT",
    message: expect.stringContaining("as CSV or JSON"),
  });
}, 60_000);

test("a result beyond the limit of the disk is refused while it is written", async () => {
  const batches = async function* () {
    for (;;) yield [["x".repeat(1000)]];
  };
  for (const format of ["csv", "parquet"] as const) {
    const limits = { format, folder: mkdtempSync(join(tmpdir(), "duckmirror-limit-")), mostBytes: 1_000_000 };
    const cursor = { columns: [{ name: "text", type: "VARCHAR" }], batches: batches() };
    await expect(writeResultFile(cursor, limits)).rejects.toMatchObject({ code: "QUERY_LIMIT" });
  }
});
