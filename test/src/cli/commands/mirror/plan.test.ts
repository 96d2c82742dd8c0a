// duckmirror plan: before the first sync, and after one.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { learnChecked } from "../../../../../src/core/state/checked.ts";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { aFolder, cli } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";

const sandbox = await forFile(startSandbox({ seed: 4, accounts: 3, plan: "enterprise", threads: 1 }));

const counted = (total: number) => ({ total, page: null, filters: null });

test("before the first sync it says what is due and creates nothing", async () => {
  const cwd = aFolder();
  const env = { DUCKMIRROR_BASE_URL: "http://127.0.0.1:9", DUCKMIRROR_TOKEN: "test-token" };
  const { code, out, err } = await cli(["plan", "accounts"], { env, cwd });
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/│ accounts +│ 1 list +│/);
  expect(readdirSync(cwd)).toEqual([]);
  const deep = join(cwd, "not/yet/there");
  expect((await cli(["plan", "--data-dir", deep, "--json"], { env, cwd })).code).toBe(0);
  expect(existsSync(join(cwd, "not"))).toBe(false);
});

test("lists are called lists, single records records, and one is not called many", async () => {
  const cwd = aFolder();
  const env = { DUCKMIRROR_BASE_URL: sandbox.url, DUCKMIRROR_TOKEN: sandbox.token, DUCKMIRROR_RATE_LIMIT: "6000" };
  expect((await cli(["sync", "--quiet"], { env, cwd })).code).toBe(0);
  const { out } = await cli(["plan", "--full"], { env, cwd });
  expect(out).toMatch(/│ account_insights │ +3 records │/);
  expect(out).toMatch(/│ contacts +│ +1 list │/);
  expect(out).toMatch(/│ filings +│ +\d+ lists │/);
  expect(out).toMatch(/│ usage +│ 1 list, 2 records │/);
  const one = await cli(["plan", "accounts", "--max-credits", "1"], { env, cwd });
  expect(one.out).toContain("1 request, 1 credit");
  const few = await cli(["plan", "--full", "--max-credits", "1"], { env, cwd });
  expect(few.out).toContain("only the most valuable request fits");
  expect(few.out).not.toMatch(/\b1 (requests|credits|lists|records)\b/);
});

test("before the first sync and without a check, it says what it does not know and how to find out", async () => {
  const env = { DUCKMIRROR_BASE_URL: "http://127.0.0.1:9", DUCKMIRROR_TOKEN: "test-token" };
  const { out } = await cli(["plan"], { env, cwd: aFolder() });
  expect(out).toContain("not known: the lengths of accounts, contacts, signals and usage, and so how many companies");
  expect(out).toContain("`duckmirror check` counts accounts and usage for one credit; `duckmirror check --totals`");
  expect(out).not.toContain("≥");
});

test("the credits that `check` saw decide how often usage is read, before the first sync as after it", async () => {
  const cwd = aFolder();
  const lists = Object.fromEntries(["accounts", "contacts", "signals"].map((list) => [list, counted(0)]));
  const credits = { limit: 100, used: 1, remaining: 99, resetsAt: Date.now() + 8 * 86_400_000 };
  await learnChecked(join(cwd, "data"), { lists, credits });
  const env = { DUCKMIRROR_BASE_URL: "http://127.0.0.1:9", DUCKMIRROR_TOKEN: "test-token" };
  const plan = JSON.parse((await cli(["plan", "usage", "--json"], { env, cwd })).out);
  expect(plan).toMatchObject({ roll_over: "unknown", projection: [{ stream: "usage", credits_per_day: 0.1 }] });
  // Three requests now, none again before the reset: they are a hundredth of the period's credits each.
  expect(plan.left_at_reset).toBe(99 - plan.credits);
});

test("what was foreseen as a lower bound only is not shown as a number afterwards", async () => {
  const cwd = aFolder();
  const env = { DUCKMIRROR_BASE_URL: sandbox.url, DUCKMIRROR_TOKEN: sandbox.token, DUCKMIRROR_RATE_LIMIT: "6000" };
  for (let sync = 0; sync < 2; sync++) await cli(["sync", "accounts", "contacts", "--quiet"], { env, cwd });
  const { runs } = JSON.parse((await cli(["status", "--json"], { env, cwd })).out);
  expect(runs).toMatchObject([
    { requests: 2, forecast_requests: 2 },
    { mode: "full", forecast_requests: null },
  ]);
});

test("after `check --totals` it foresees the first sync, and `status` shows how well", async () => {
  const cwd = aFolder();
  const env = { DUCKMIRROR_BASE_URL: sandbox.url, DUCKMIRROR_TOKEN: sandbox.token, DUCKMIRROR_RATE_LIMIT: "6000" };
  const check = JSON.parse((await cli(["check", "--totals", "--json"], { env, cwd })).out);
  expect(check).toMatchObject({ accounts: 3, credits: { spent: 3 }, requests: 4 });
  expect([check.contacts > 3, check.signals > 3]).toEqual([true, true]);
  const plan = JSON.parse((await cli(["plan", "--json"], { env, cwd })).out);
  expect(plan).toMatchObject({ at_least: false, unknown: [], limit: 10_000_000, remaining: check.credits.remaining });
  const { credits } = JSON.parse((await cli(["sync", "--quiet", "--json"], { env, cwd })).out);
  expect(Math.abs(plan.credits - credits.spent)).toBeLessThanOrEqual(0.05 * credits.spent);
  const { forecasts } = JSON.parse((await cli(["status", "--json"], { env, cwd })).out);
  const [run] = forecasts.last;
  expect(run).toMatchObject({ credits: plan.credits, at_least: false, spent: credits.spent });
  expect(run.error_percent).toBeCloseTo((100 * (plan.credits - credits.spent)) / credits.spent, 1);
  expect(forecasts.median_error_percent).toBe(Math.abs(run.error_percent));
  expect((await cli(["status"], { env, cwd })).out).toMatch(/^forecast of the last sync: off by [+-]?[\d.]+%$/m);
  expect((await cli(["plan"], { env, cwd })).out).toMatch(
    /^about [\d,]+ will be left at the reset; unspent credits roll over for up to 3 billing cycles, by the service's documentation$/m,
  );
});

test("with a small largest page it foresees the first sync: `check` finds the page size, for no credit more", async () => {
  const small = await startSandbox({ seed: 4, accounts: 3, plan: "enterprise", threads: 1, maxPerPage: 7 });
  onTestFinished(() => small.close());
  const cwd = aFolder();
  const env = { DUCKMIRROR_BASE_URL: small.url, DUCKMIRROR_TOKEN: small.token, DUCKMIRROR_RATE_LIMIT: "6000" };
  const check = JSON.parse((await cli(["check", "--totals", "--json"], { env, cwd })).out);
  expect(check).toMatchObject({ largest_page: 7, credits: { spent: 3 } });
  const plan = JSON.parse(
    (await cli(["plan", "accounts,contacts", " signals ", "usage,", "--json"], { env, cwd })).out,
  );
  expect([plan.at_least, plan.at_most]).toEqual([false, plan.credits]);
  const streams = ["accounts", "contacts", "signals", "usage"];
  const { credits } = JSON.parse((await cli(["sync", ...streams, "--quiet", "--json"], { env, cwd })).out);
  expect(Math.abs(plan.credits - credits.spent)).toBeLessThanOrEqual(0.05 * credits.spent);
  // Read anew, its pages share rows.
  await cli(["sync", "--reset", "signals", "--quiet"], { env, cwd });
  const { forecasts } = JSON.parse((await cli(["status", "--json"], { env, cwd })).out);
  expect(Math.abs(forecasts.last[0].error_percent)).toBeLessThanOrEqual(5);
});

test("with a scope `check` counts the rows inside it, so that the first sync is foreseen; another scope is not known", async () => {
  const world = await startSandbox({ seed: 5, accounts: 12, plan: "enterprise", threads: 1 });
  onTestFinished(() => world.close());
  const cwd = aFolder();
  const env = { DUCKMIRROR_BASE_URL: world.url, DUCKMIRROR_TOKEN: world.token, DUCKMIRROR_RATE_LIMIT: "6000" };
  const choose = (type: string) =>
    writeFileSync(join(cwd, "duckmirror.yaml"), `scope: {accounts: {priority: 1}, signals: {type: ${type}}}\n`);
  choose("funding-alert");
  const check = JSON.parse((await cli(["check", "--totals", "--json"], { env, cwd })).out);
  expect(check).toMatchObject({ accounts: 12, credits: { spent: 4 } });
  expect(check.accounts_in_scope).toBeGreaterThan(0);
  expect(check.accounts_in_scope).toBeLessThan(12);
  const plan = JSON.parse((await cli(["plan", "--json"], { env, cwd })).out);
  const { credits } = JSON.parse((await cli(["sync", "--quiet", "--json"], { env, cwd })).out);
  expect(Math.abs(plan.credits - credits.spent)).toBeLessThanOrEqual(0.05 * credits.spent);
  const sql = "SELECT count(*)::INTEGER FROM accounts WHERE _in_scope";
  expect((await cli(["query", sql, "--format", "csv"], { env, cwd })).out).toContain(`${check.accounts_in_scope}`);

  const fresh = aFolder();
  await cli(["check", "--totals"], { env, cwd: fresh });
  writeFileSync(join(fresh, "duckmirror.yaml"), "scope: {signals: {type: funding-alert}}\n");
  const { unknown } = JSON.parse((await cli(["plan", "--json"], { env, cwd: fresh })).out);
  expect(unknown).toEqual(["signals"]);
});

test("where no answer has shown how many rows a page holds, it names a range", async () => {
  const cwd = aFolder();
  const lists = { accounts: counted(60), contacts: counted(556), signals: counted(1687) };
  await learnChecked(join(cwd, "data"), { lists, credits: null });
  const env = { DUCKMIRROR_BASE_URL: "http://127.0.0.1:9", DUCKMIRROR_TOKEN: "test-token" };
  const { out } = await cli(["plan", "accounts", "contacts", "signals"], { env, cwd });
  expect(out).toMatch(/│ signals +│ 1 list │ +3 to 86 │/);
  expect(out).toContain("5 to 117 requests, as many credits: the largest page is not known");
  const plan = JSON.parse((await cli(["plan", "signals", "--json"], { env, cwd })).out);
  expect(plan).toMatchObject({ credits: 3, at_most: 86, at_least: false });
});
