// duckmirror query, on a real snapshot.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { openDatabase } from "../../../../../src/warehouse/duckdb/database.ts";
import { aFolder, cli } from "../../../../support/cli.ts";

let cwd: string;
beforeEach(async () => {
  cwd = aFolder();
  const database = await openDatabase(join(cwd, "warehouse.duckdb"));
  await database.run(
    `CREATE TABLE accounts AS
       SELECT 9007199254740993 + i AS id, 'Name ' || i AS name, TIMESTAMPTZ '2024-01-02 03:04:05+02' AS created_at,
              CASE WHEN i = 0 THEN NULL ELSE ['a', 'b'] END AS tags, '{"k": 1}'::JSON AS summary
       FROM range(3) r(i)`,
  );
  await database.close();
});
const query = (argv: readonly string[], setup = {}) => cli(["query", "--data-dir", cwd, ...argv], { cwd, ...setup });

describe("formats", () => {
  test("a table is the default, with NULLs said and numbers to the right", async () => {
    const { code, out, err } = await query(["select id, name, tags from accounts order by id limit 1"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("│ 9007199254740993 │ Name 0 │ NULL │");
  });

  test("--json is an array of objects with exact integers and UTC times", async () => {
    const { out } = await query(["--json", "select * from accounts order by id limit 1"]);
    expect(out).toBe(
      '[\n{"id":9007199254740993,"name":"Name 0","created_at":"2024-01-02T01:04:05.000Z","tags":null,"summary":{"k": 1}}\n]\n',
    );
  });

  test("--format csv and ndjson write one row a line", async () => {
    expect((await query(["--format", "csv", "select id, name from accounts order by id"])).out.split("\r\n")).toEqual([
      "id,name",
      "9007199254740993,Name 0",
      "9007199254740994,Name 1",
      "9007199254740995,Name 2",
      "",
    ]);
    const { out } = await query(["--format", "ndjson", "select name from accounts order by id"]);
    expect(out).toBe('{"name":"Name 0"}\n{"name":"Name 1"}\n{"name":"Name 2"}\n');
  });

  test("results larger than memory should hold at once are written piece by piece", async () => {
    const sizes: number[] = [];
    const { out } = await query(["--format", "ndjson", "select i, repeat('x', 100) as x from range(20000) r(i)"], {
      onOut: (text: string) => sizes.push(text.length),
    });
    expect(sizes.length).toBeGreaterThan(10);
    expect(out.trimEnd().split("\n").length).toBe(20_000);
  });

  test("a terminal gets the first thousand rows and learns how to get all", async () => {
    const { out, err } = await query(["select i from range(5000) r(i)"], { answers: [] });
    expect(out.split("\n").filter((line) => /^│ +\d+ │$/.test(line)).length).toBe(1000);
    expect(err).toContain("the first 1,000 rows; --format csv");
  });
});

describe("where the SQL comes from", () => {
  test("words on the command line, a file, or stdin", async () => {
    writeFileSync(join(cwd, "q.sql"), "-- how many\nselect count(*) as n from accounts;\n");
    const runs = [
      await query(["--json", "select", "count(*) as n", "from accounts"]),
      await query(["--json", "--file", "q.sql"]),
      await query(["--json", "-"], { input: "select count(*) as n from accounts" }),
    ];
    for (const run of runs) expect(JSON.parse(run.out)).toEqual([{ n: 3 }]);
  });

  test("an argument that begins with a comment is SQL, also before options", async () => {
    const { code, out } = await query(["--json", "-- how many\nselect count(*) as n from accounts"]);
    expect([code, JSON.parse(out)]).toEqual([0, [{ n: 3 }]]);
  });

  test("--saved runs a query by its name, --list shows all of them", async () => {
    const { code, err } = await query(["--saved", "who-is-hiring"]);
    expect([code, err]).toEqual([2, expect.stringContaining("hiring_trend")]);
    const list = await query(["--list"]);
    expect(list.out).toMatch(/who-is-hiring *│ which companies hire/);
    const queries: unknown = JSON.parse((await query(["--list", "--json"])).out);
    expect(queries).toContainEqual(expect.objectContaining({ name: "who-is-hiring", sql: expect.any(String) }));
  });

  test("an unknown name is refused with the nearest one", async () => {
    const { code, err } = await query(["--saved", "who-is-hirin"]);
    expect([code, err]).toEqual([2, expect.stringMatching(/USAGE: no saved query.* Did you mean who-is-hiring\?/)]);
  });

  test("none, two, or a file that is not there are usage errors", async () => {
    for (const argv of [[], ["--file", "q.sql", "select 1"], ["--file", "gone.sql"], ["--format", "xml", "select 1"]]) {
      const { code, err } = await query(argv);
      expect([argv, code, err.startsWith("error USAGE: ")]).toEqual([argv, 2, true]);
    }
  });
});

describe("failures", () => {
  test("a mistake in the SQL is exit code 2 with DuckDB's words", async () => {
    const { code, err } = await query(["select nope from accounts"]);
    expect([code, err]).toEqual([2, expect.stringMatching(/^error QUERY_FAILED: [\s\S]*nope/)]);
  });

  test("several statements are refused, and none of them is dropped", async () => {
    const { code, err } = await query(["select 1; select 2"]);
    expect([code, err]).toEqual([2, expect.stringContaining("these are 2 statements; give one at a time")]);
    expect((await query(["select 1; -- the only one"])).code).toBe(0);
    const none = await query(["-- only a remark"]);
    expect([none.code, none.err]).toEqual([2, expect.stringContaining("it holds no statement")]);
  });

  test("writes and other files are refused", async () => {
    writeFileSync(join(cwd, "secret.txt"), "secret-words");
    for (const sql of [
      `from read_text('${cwd}/secret.txt')`,
      "delete from accounts",
      `copy accounts to '${cwd}/x.csv'`,
    ]) {
      const { code, out, err } = await query([sql]);
      expect([sql, code, out + err]).toEqual([sql, 2, expect.not.stringContaining("secret-words")]);
    }
  });

  test("a time limit beyond the longest timer does not end it at once", async () => {
    const { code, out, err } = await query(["--json", "--timeout", "30d", "select count(*) as n from range(30000000)"]);
    expect([code, err]).toEqual([0, ""]);
    expect(JSON.parse(out)).toEqual([{ n: 30_000_000 }]);
  });
});
