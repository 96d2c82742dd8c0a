// sync --reset and --with-parents: one list read anew without deleting first, and streams that need others.
import { join } from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { runQuery } from "../../../../../src/warehouse/read/query.ts";
import { aPlaceFor } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";

let paths: string[] = [];
const sandbox = await forFile(startSandbox({ seed: 10, accounts: 4, plan: "enterprise", threads: 1 }));
beforeAll(async () => {
  sandbox.intercept((request, next) => {
    paths.push(request.path);
    return next();
  });
});
afterEach(() => {
  paths = [];
});

const aMirror = () => {
  const { dataDir, run } = aPlaceFor(sandbox, { DUCKMIRROR_LOG_LEVEL: "error" });
  const sync = (...argv: string[]) => run("sync", ...argv);
  const rows = async (sql: string) => (await runQuery({ snapshot: join(dataDir, "warehouse.duckdb"), sql })).rows;
  return { sync, rows };
};

test("a company list on an empty mirror says what it needs; --with-parents reads that first", async () => {
  const { sync, rows } = aMirror();
  const bare = await sync("news_articles", "--json");
  expect([bare.code, paths]).toEqual([5, []]);
  expect(bare.out).toContain("PARENTS_MISSING");
  expect((await sync("news_articles", "--with-parents")).code).toBe(0);
  expect(paths[0]).toBe("/v1/accounts");
  const [[news, companies] = []] = await rows("SELECT count(*), count(DISTINCT company_id) FROM news_articles");
  expect([Number(news) > 0, Number(companies)]).toEqual([true, 4]);
});

test("--reset reads one stream anew, and nothing else; no row is deleted or written again", async () => {
  const { sync, rows } = aMirror();
  expect((await sync("accounts", "signals")).code).toBe(0);
  const before = await rows("SELECT id, _synced_at FROM signals ORDER BY id");
  paths = [];
  const again = await sync("--reset", "signals", "--json");
  expect([again.code, new Set(paths)]).toEqual([0, new Set(["/v1/signals"])]);
  expect(JSON.parse(again.out).streams).toMatchObject([
    { stream: "signals", mode: "walk", status: "done", inserted: 0, updated: 0, deleted: 0, complete: true },
  ]);
  expect(await rows("SELECT id, _synced_at FROM signals ORDER BY id")).toEqual(before);
});

test("--reset STREAM:SCOPE reads one company's list anew", async () => {
  const { sync, rows } = aMirror();
  expect((await sync("news_articles", "--with-parents")).code).toBe(0);
  const [[company] = []] = await rows("SELECT company_id FROM accounts ORDER BY company_id LIMIT 1");
  paths = [];
  expect((await sync("--reset", `news_articles:${company}`)).code).toBe(0);
  expect(new Set(paths)).toEqual(new Set([`/v1/companies/${company}/news-articles`]));
});

test.each([
  [["--reset", "singals"], "Did you mean signals"],
  [["--reset", "news_articles:nobody"], "the mirror reads no such list"],
  [["--reset", "signals", "accounts"], "leave out the other ones"],
])("%j is a usage error, and nothing is sent", async (argv, named) => {
  const { sync } = aMirror();
  const run = await sync(...argv);
  expect([run.code, run.err.includes(named), paths]).toEqual([2, true, []]);
});
