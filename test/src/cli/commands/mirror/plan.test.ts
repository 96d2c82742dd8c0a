// duckmirror plan: before the first sync, and after one.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { learnChecked } from "../../../../../src/core/state/last-check.ts";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { aFolder, cliIn } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";

const sandbox = await forFile(startSandbox({ seed: 4, accounts: 3, plan: "enterprise", threads: 1 }));

/** A folder of its own from which the program asks a service; by default one that is not there. */
const at = ({ url, token }: { url: string; token: string } = { url: "http://127.0.0.1:9", token: "test-token" }) => {
  const cwd = aFolder();
  const env = { DUCKMIRROR_BASE_URL: url, DUCKMIRROR_TOKEN: token, DUCKMIRROR_RATE_LIMIT: "6000" };
  return { cwd, ...cliIn({ env, cwd }) };
};
const aWorld = async (options: Parameters<typeof startSandbox>[0]) => {
  const world = await startSandbox({ plan: "enterprise", threads: 1, ...options });
  onTestFinished(() => world.close());
  return world;
};
/** Credits of a sync, which must be what its plan says but for a twentieth. */
const expectForeseen = (planned: number, spent: number) =>
  expect(Math.abs(planned - spent)).toBeLessThanOrEqual(0.05 * spent);

const counted = (total: number) => ({ total, page: null, filters: null });

test("before the first sync it says what is due and creates nothing", async () => {
  const { cwd, run } = at();
  const { code, out, err } = await run("plan", "accounts");
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/│ accounts +│ 1 list +│/);
  expect(readdirSync(cwd)).toEqual([]);
  const deep = join(cwd, "not/yet/there");
  expect((await run("plan", "--data-dir", deep, "--json")).code).toBe(0);
  expect(existsSync(join(cwd, "not"))).toBe(false);
});

test("lists are called lists, single records records, and one is not called many", async () => {
  const { run } = at(sandbox);
  expect((await run("sync", "--quiet")).code).toBe(0);
  const { out } = await run("plan", "--full");
  expect(out).toMatch(/│ account_insights │ +3 records │/);
  expect(out).toMatch(/│ contacts +│ +1 list │/);
  expect(out).toMatch(/│ filings +│ +\d+ lists │/);
  expect(out).toMatch(/│ usage +│ 1 list, 2 records │/);
  const one = await run("plan", "accounts", "--max-credits", "1");
  expect(one.out).toContain("1 request, 1 credit");
  const few = await run("plan", "--full", "--max-credits", "1");
  expect(few.out).toContain("only the most valuable request fits");
  expect(few.out).not.toMatch(/\b1 (requests|credits|lists|records)\b/);
});

test("before the first sync and without a check, it says what it does not know and how to find out", async () => {
  const { out } = await at().run("plan");
  expect(out).toContain("not known: the lengths of accounts, contacts, signals and usage, and so how many companies");
  expect(out).toContain("`duckmirror check` counts accounts and usage for one credit; `duckmirror check --totals`");
  expect(out).not.toContain("≥");
});

test("the credits that `check` saw decide how often usage is read, before the first sync as after it", async () => {
  const { cwd, json } = at();
  const lists = Object.fromEntries(["accounts", "contacts", "signals"].map((list) => [list, counted(0)]));
  const credits = { limit: 100, used: 1, remaining: 99, resetsAt: Date.now() + 8 * 86_400_000 };
  await learnChecked(join(cwd, "data"), { lists, credits });
  const plan = await json("plan", "usage");
  expect(plan).toMatchObject({ roll_over: "unknown", projection: [{ stream: "usage", credits_per_day: 0.1 }] });
  // Three requests now, none again before the reset: they are a hundredth of the period's credits each.
  expect(plan.left_at_reset).toBe(99 - plan.credits);
});

test("what was foreseen as a lower bound only is not shown as a number afterwards", async () => {
  const { run, json } = at(sandbox);
  for (let sync = 0; sync < 2; sync++) await run("sync", "accounts", "contacts", "--quiet");
  const { runs } = await json("status");
  expect(runs).toMatchObject([
    { requests: 2, forecast_requests: 2 },
    { mode: "full", forecast_requests: null },
  ]);
});

test("after `check --totals` it foresees the first sync, and `status` shows how well", async () => {
  const { run, json } = at(sandbox);
  const check = await json("check", "--totals");
  expect(check).toMatchObject({ accounts: 3, credits: { spent: 3 }, requests: 4 });
  expect([check.contacts > 3, check.signals > 3]).toEqual([true, true]);
  const plan = await json("plan");
  expect(plan).toMatchObject({ at_least: false, unknown: [], limit: 10_000_000, remaining: check.credits.remaining });
  const { credits } = await json("sync", "--quiet");
  expectForeseen(plan.credits, credits.spent);
  const { forecasts } = await json("status");
  const [last] = forecasts.last;
  expect(last).toMatchObject({ credits: plan.credits, at_least: false, spent: credits.spent });
  expect(last.error_percent).toBeCloseTo((100 * (plan.credits - credits.spent)) / credits.spent, 1);
  expect(forecasts.median_error_percent).toBe(Math.abs(last.error_percent));
  expect((await run("status")).out).toMatch(/^forecast of the last sync: off by [+-]?[\d.]+%$/m);
  expect((await run("plan")).out).toMatch(
    /^about [\d,]+ will be left at the reset; unspent credits roll over for up to 3 billing cycles, by the service's documentation$/m,
  );
});

test("with a small largest page it foresees the first sync: `check` finds the page size, for no credit more", async () => {
  const small = await aWorld({ seed: 4, accounts: 3, maxPerPage: 7 });
  const { run, json } = at(small);
  const check = await json("check", "--totals");
  expect(check).toMatchObject({ largest_page: 7, credits: { spent: 3 } });
  const plan = await json("plan", "accounts,contacts", " signals ", "usage,");
  expect([plan.at_least, plan.at_most]).toEqual([false, plan.credits]);
  const streams = ["accounts", "contacts", "signals", "usage"];
  const { credits } = await json("sync", ...streams, "--quiet");
  expectForeseen(plan.credits, credits.spent);
  // Read anew, its pages share rows.
  await run("sync", "--reset", "signals", "--quiet");
  const { forecasts } = await json("status");
  expect(Math.abs(forecasts.last[0].error_percent)).toBeLessThanOrEqual(5);
});

test("with a scope `check` counts the rows inside it, so that the first sync is foreseen; another scope is not known", async () => {
  const world = await aWorld({ seed: 5, accounts: 12 });
  const { cwd, run, json } = at(world);
  const choose = (type: string) =>
    writeFileSync(join(cwd, "duckmirror.yaml"), `scope: {accounts: {priority: 1}, signals: {type: ${type}}}\n`);
  choose("funding-alert");
  const check = await json("check", "--totals");
  expect(check).toMatchObject({ accounts: 12, credits: { spent: 4 } });
  expect(check.accounts_in_scope).toBeGreaterThan(0);
  expect(check.accounts_in_scope).toBeLessThan(12);
  const plan = await json("plan");
  const { credits } = await json("sync", "--quiet");
  expectForeseen(plan.credits, credits.spent);
  const sql = "SELECT count(*)::INTEGER FROM accounts WHERE _in_scope";
  expect((await run("query", sql, "--format", "csv")).out).toContain(`${check.accounts_in_scope}`);

  const fresh = at(world);
  await fresh.run("check", "--totals");
  writeFileSync(join(fresh.cwd, "duckmirror.yaml"), "scope: {signals: {type: funding-alert}}\n");
  expect((await fresh.json("plan")).unknown).toEqual(["signals"]);
});

test("where no answer has shown how many rows a page holds, it names a range", async () => {
  const { cwd, run, json } = at();
  const lists = { accounts: counted(60), contacts: counted(556), signals: counted(1687) };
  await learnChecked(join(cwd, "data"), { lists, credits: null });
  const { out } = await run("plan", "accounts", "contacts", "signals");
  expect(out).toMatch(/│ signals +│ 1 list │ +3 to 86 │/);
  expect(out).toContain("5 to 117 requests, as many credits: the largest page is not known");
  const plan = await json("plan", "signals");
  expect(plan).toMatchObject({ credits: 3, at_most: 86, at_least: false });
});
