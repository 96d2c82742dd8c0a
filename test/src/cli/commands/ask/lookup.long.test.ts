// duckmirror lookup: what the mirror answers, what costs a credit, and that nothing paid for is lost.
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { keyedForgotten, writeForgotten } from "../../../../../src/warehouse/archive/forgotten-list.ts";
import { callsDir } from "../../../../../src/warehouse/journal/journal.ts";
import { runQuery } from "../../../../../src/warehouse/read/query.ts";
import { aPlaceFor, cli } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";
import { aWarehouse } from "../../../warehouse/builders.ts";

/** Path, as sent, of every request. */
let paths: string[] = [];
const listen = () =>
  sandbox.intercept((request, next) => {
    paths.push(request.path);
    return next();
  });
const record = z.record(z.string(), z.unknown());
const answer = z.object({ data: z.array(record), included: z.object({ companies: z.array(record) }).optional() });
const ask = async (path: string) => {
  const response = await fetch(`${sandbox.url}${path}`, { headers: { authorization: `Bearer ${sandbox.token}` } });
  return answer.parse(await response.json());
};
const names = z.object({
  id: z.string(),
  name: z.string(),
  domain: z.string(),
  mainStockSymbol: z.string(),
  fundingDataUrl: z.string(),
  professionalNetworkUrl: z.string(),
});

/** A tracked company with every kind of name, and its account. */
let company: z.output<typeof names>;
let account: { readonly id: number; readonly domain: string };

const sandbox = await forFile(startSandbox({ seed: 8, accounts: 12, plan: "enterprise", threads: 1 }));
beforeAll(async () => {
  const accounts = await ask("/v1/accounts?perPage=50&include=company&sortBy=id");
  const listed = (accounts.included?.companies ?? []).filter((found) => names.safeParse(found).success);
  company = names.parse(listed[0]);
  const tracked = accounts.data.find(({ companyId }) => companyId === company.id);
  account = z.object({ id: z.number(), domain: z.string() }).parse(tracked);
  listen();
});
afterEach(() => {
  paths = [];
  listen();
});

const aMirror = (more: Record<string, string> = {}) => {
  const { dataDir, env, run } = aPlaceFor(sandbox, { DUCKMIRROR_LOG_LEVEL: "error", ...more });
  const lookup = async (...argv: string[]) => {
    const ended = await run("lookup", ...argv, "--json");
    return { ...ended, found: ended.out === "" ? null : JSON.parse(ended.out) };
  };
  const rows = async (sql: string) => (await runQuery({ snapshot: join(dataDir, "warehouse.duckdb"), sql })).rows;
  return { dataDir, env, run, lookup, rows };
};

describe("a company", () => {
  test("is paid for once, until the answer is older than --max-age: it is in the mirror, the credit in the ledger", async () => {
    const { lookup, rows } = aMirror();
    const first = await lookup("company", company.domain);
    expect([first.code, first.err]).toEqual([0, ""]);
    expect(first.found).toMatchObject({ status: "found", source: "service", credits: 1, kept: true });
    expect(first.found.company).toMatchObject({ id: company.id, name: company.name });
    expect(await rows("SELECT input, company_id, status FROM company_inputs")).toEqual([
      [company.domain, company.id, "found"],
    ]);
    expect(await rows("SELECT id FROM companies")).toEqual([[company.id]]);
    expect(await rows("SELECT endpoint, credits FROM sync.requests")).toEqual([
      ["/v1/companies/by-input/{companyInputId}", 1],
    ]);
    const second = await lookup("company", company.domain);
    expect(second.found).toMatchObject({ status: "found", source: "mirror", credits: 0 });
    expect(second.found.company).toEqual(first.found.company);
    expect(second.found.latest_earnings_call).toEqual(first.found.latest_earnings_call);
    expect((await lookup("company", company.domain, "--max-age", "1h")).found.source).toBe("mirror");
    expect(paths).toHaveLength(1);
    expect((await lookup("company", company.domain, "--max-age", "0")).found.source).toBe("service");
  });

  test("comes with its latest earnings call and that call's analysis, which the mirror keeps", async () => {
    const { lookup, rows } = aMirror();
    const { found } = await lookup("company", company.id);
    const { data } = await ask(`/v1/companies/${company.id}/earnings-calls?perPage=1`);
    expect(found.latest_earnings_call.id).toBe(data[0]?.id);
    const [[id, analysis] = []] = await rows("SELECT id, generated_analysis FROM earnings_calls");
    expect(Number(id)).toBe(data[0]?.id);
    expect(JSON.parse(String(analysis))).toEqual(found.latest_earnings_call_analysis);
  });

  test("is found by all six kinds of input, at the service and then in the mirror", async () => {
    const kinds = [
      company.id,
      company.domain,
      `https://www.${company.domain}/about/us?ref=a%20b&x=/y#top`,
      company.mainStockSymbol,
      company.professionalNetworkUrl,
      company.fundingDataUrl,
    ];
    for (const input of kinds) {
      const { lookup } = aMirror();
      const first = await lookup("company", input);
      expect([input, first.code, first.err, first.found?.source]).toEqual([input, 0, "", "service"]);
      expect(first.found.company.id).toBe(company.id);
      expect(paths.at(-1)).toBe(`/v1/companies/by-input/${encodeURIComponent(input)}`);
      const again = await lookup("company", input);
      expect([input, again.found.source, again.found.company.id]).toEqual([input, "mirror", company.id]);
    }
    expect(paths).toHaveLength(kinds.length);
  });

  test("unknown to the service is free, ends with 5, and is not asked for again", async () => {
    const { lookup, rows } = aMirror();
    const first = await lookup("company", "nobody.example");
    expect([first.code, first.found.status, first.found.credits]).toEqual([5, "not_found", 0]);
    expect(first.err).toMatch(/^error COMPANY_UNKNOWN: The service knows no company for nobody.example/);
    // Nothing had shown that the address is right, so that was asked, too.
    expect(await rows("SELECT status, charge FROM sync.requests ORDER BY status")).toEqual([
      [400, "free"],
      [404, "free"],
    ]);
    expect((await lookup("company", "nobody.example")).found).toMatchObject({ source: "mirror", credits: 0 });
    expect(paths).toHaveLength(2);
    expect((await lookup("company", "nobody-else.example")).found.status).toBe("not_found");
    expect(paths).toHaveLength(3);
  });

  test.each([
    ["lookup", "company", "nobody.example"],
    ["sync", "companies"],
  ])("is not taken for unknown because of a wrong address: %s", async (...command) => {
    const { env, lookup, rows } = aMirror({ DUCKMIRROR_COMPANIES: "nobody.example" });
    const wrong = { ...env, DUCKMIRROR_BASE_URL: `${sandbox.url}/typo` };
    const { code, out, err } = await cli([...command, "--json"], { env: wrong });
    expect([code, `${out}${err}`]).toEqual([5, expect.stringContaining("ROUTE_NOT_FOUND: ")]);
    expect((await lookup("company", company.domain)).found.status).toBe("found");
    expect(await rows("SELECT input FROM company_inputs WHERE resolved_at IS NOT NULL")).toEqual([[company.domain]]);
  });
});

describe("an account", () => {
  test("is found by domain: its insight is kept, and the next sync does not pay for it again", async () => {
    const { run, lookup, rows } = aMirror();
    expect((await run("sync", "accounts")).code).toBe(0);
    const first = await lookup("account", account.domain);
    expect([first.code, first.err]).toEqual([0, ""]);
    expect(first.found).toMatchObject({ status: "found", source: "service", credits: 1, candidates: [] });
    expect(first.found.insight.profile.accountId).toBe(account.id);
    expect(await rows("SELECT CAST(account_id AS INTEGER), status FROM account_insights")).toEqual([
      [account.id, "found"],
    ]);
    expect((await run("sync", "account_insights")).code).toBe(0);
    expect(paths.filter((path) => path === "/v1/account-insights")).toHaveLength(12);
    const second = await lookup("account", account.domain);
    expect(second.found).toMatchObject({ status: "found", source: "mirror", credits: 0 });
    expect(second.found.insight).toEqual(first.found.insight);
  });

  test("several of a name are candidates, none is clear: exit code 5, kept in the mirror", async () => {
    const { lookup, rows } = aMirror();
    const several = await lookup("account", "a");
    expect([several.code, several.found.status, several.found.credits]).toEqual([5, "multiple_matches", 1]);
    expect(several.found.candidates.length).toBeGreaterThan(1);
    expect(several.found.best_match).toEqual(several.found.candidates[0]);
    expect(several.err).toMatch(/^error ACCOUNT_AMBIGUOUS: \d+ accounts match a\.\nhint: /);
    const none = await lookup("account", "nobody.example");
    expect([none.code, none.found.status, none.found.credits]).toEqual([5, "not_found", 1]);
    expect(none.err).toMatch(/^error ACCOUNT_UNKNOWN: /);
    expect(await rows("SELECT count(*) FROM account_insights")).toEqual([[0]]);
    expect(
      await rows("SELECT summary ->> '$.status', CAST(summary -> '$.best_match' AS VARCHAR) FROM sync.runs ORDER BY 1"),
    ).toEqual([
      ["multiple_matches", JSON.stringify(several.found.best_match)],
      ["not_found", "null"],
    ]);
    const again = await lookup("account", "a");
    expect([again.code, again.found.source, again.found.candidates]).toEqual([5, "mirror", several.found.candidates]);
    expect((await lookup("account", "nobody.example")).found.source).toBe("mirror");
    expect(paths).toHaveLength(2);
  });
});

describe("beside a process that holds the warehouse", () => {
  test("the mirror still answers, and a paid answer is kept for that process", async () => {
    const { dataDir, run, lookup, rows } = aMirror();
    await lookup("company", company.domain);
    const holder = await aWarehouse(dataDir);
    expect((await lookup("company", company.domain)).found).toMatchObject({ source: "mirror", kept: true });
    const paid = await lookup("account", account.domain);
    expect([paid.code, paid.found.source, paid.found.kept]).toEqual([0, "service", false]);
    expect(readdirSync(callsDir(dataDir))).toHaveLength(1);
    await holder.close();
    expect((await run("sync", "signal_counts")).code).toBe(0);
    expect(await rows("SELECT CAST(account_id AS INTEGER) FROM account_insights")).toEqual([[account.id]]);
    expect(await rows("SELECT count(*) FROM sync.requests WHERE endpoint = '/v1/account-insights'")).toEqual([[1]]);
    expect((await run("replay")).code).toBe(0);
    expect(await rows("SELECT CAST(account_id AS INTEGER) FROM account_insights")).toEqual([[account.id]]);
    expect(await rows("SELECT id FROM companies")).toEqual([[company.id]]);
  });
});

describe("where the mirror cannot be written", () => {
  test("a paid answer is shown with the reason, and enters the mirror later without a credit", async () => {
    const { dataDir, run, lookup, rows } = aMirror();
    await lookup("company", company.domain);
    writeFileSync(join(dataDir, "state", "working.duckdb"), "no database");
    const paid = await lookup("account", account.domain);
    expect(paid.found).toMatchObject({ status: "found", source: "service", credits: 1, kept: false });
    expect([paid.code === 0, paid.err]).toEqual([false, expect.stringContaining("WAREHOUSE_CORRUPT")]);
    expect((await run("replay")).code).toBe(0);
    expect((await run("sync", "signal_counts")).code).toBe(0);
    expect(await rows("SELECT CAST(account_id AS INTEGER) FROM account_insights")).toEqual([[account.id]]);
    expect(paths.filter((path) => path === "/v1/account-insights")).toHaveLength(1);
  });

  test("while a contact is only partly erased, nothing is paid for", async () => {
    const { dataDir, lookup } = aMirror();
    await lookup("company", company.domain);
    const archiveDir = join(dataDir, "state", "archive");
    const hash = (await keyedForgotten(archiveDir)).hashOf("p_1");
    await writeForgotten(archiveDir, [{ hash, forgotten_at: "2026-11-23T00:00:00Z", done: false }]);
    expect((await lookup("account", account.domain)).err).toContain("FORGET_UNFINISHED");
    expect(paths).toHaveLength(1);
  });
});

test("no credit allowed: exit code 4, and nothing is sent", async () => {
  const { lookup } = aMirror();
  const { code, out, err } = await lookup("company", "acme.com", "--max-credits", "0");
  expect([code, err + out, paths]).toEqual([4, expect.stringContaining("BUDGET_SPENT"), []]);
});

test("no credit left by the last report: exit code 4, and nothing is sent", async () => {
  const poor = await startSandbox({ seed: 9, accounts: 2, plan: "enterprise", credits: 3, threads: 1 });
  try {
    const { lookup, run: inMirror } = aMirror({ DUCKMIRROR_BASE_URL: poor.url, DUCKMIRROR_TOKEN: poor.token });
    expect((await inMirror("sync", "accounts", "signals")).code).toBe(0);
    const before = poor.stats().requests;
    const run = await lookup("company", "nobody.example");
    expect([run.code, poor.stats().requests]).toEqual([4, before]);
    expect(run.err + run.out).toContain("QUOTA_SPENT");
  } finally {
    await poor.close();
  }
});

test("for people: the record, its source and its cost", async () => {
  const { run } = aMirror();
  const first = await run("lookup", "company", company.domain);
  expect(first.out).toMatch(new RegExp(`^name +${company.name}$`, "m"));
  expect(first.out).toMatch(/^source: service, 1 credit$/m);
  const second = await run("lookup", "company", company.domain);
  expect(second.out).toMatch(/^source: mirror, as of .* ago, 0 credits$/m);
});

test.each([
  [["lookup"], "kind"],
  [["lookup", "person", "Ada"], "neither company nor account"],
  [["lookup", "company", " "], "name the company"],
  [["lookup", "company", "acme.com", "--max-age", "soon"], "--max-age"],
])("%j is a usage error", async (argv, named) => {
  const { env } = aMirror();
  const run = await cli(argv, { env });
  expect([run.code, run.err.includes(named), paths]).toEqual([2, true, []]);
});
