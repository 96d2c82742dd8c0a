// Budgets: what they leave out of a plan, days and periods, and runs under them: never a request too many, the rest is left to later
// runs, and the ledger counts across runs.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../../src/core/clock.ts";
import type { Budget } from "../../../../src/core/config/planning/budget-settings.ts";
import { dayStart, periodStart, type Spent, withinBudgets } from "../../../../src/sync/plan/budgets.ts";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import { aCompany, aJob, anAccount, aSignal } from "../../../support/fake-data.ts";
import {
  createFakeService,
  emptyData,
  type FakeOptions,
  type FakeService,
  idsOf,
} from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";
import { due } from "./planning-input.ts";

const aBudget = (more: Partial<Budget>): Budget => ({ perDay: null, perPeriod: null, minIntervalMs: 0, ...more });
const work = (more: Partial<Candidate>) => due("job_openings", "walk", { scope: "c1", ...more });
const credits = (count: number) => ({ credits: count });
const NOTHING: readonly Spent[] = [];

test("without budgets, everything is within them", () => {
  const candidates = [work({ requests: 7 }), work({ requests: null })];
  expect(withinBudgets(candidates, { budgets: {}, spent: NOTHING, limit: null })).toEqual({ candidates, cuts: [] });
});

test("the most valuable work gets the credits; what was spent before counts", () => {
  const budgets = { job_openings: aBudget({ perDay: credits(5) }) };
  const spent = [{ stream: "job_openings", work: null, ofDay: 1, ofPeriod: 9 }];
  const candidates = [work({ scope: "a", requests: 3 }), work({ scope: "b", requests: 4 }), work({ scope: "c" })];
  const within = withinBudgets(candidates, { budgets, spent, limit: null });
  expect(within.candidates.map(({ scope, requests }) => [scope, requests])).toEqual([
    ["a", 3],
    ["b", 1],
  ]);
  expect(within.cuts).toEqual([{ budget: "job_openings.per_day", allowed: 5, spent: 1, leftOut: 4 }]);
});

describe("kinds of work", () => {
  const candidates = [
    work({ stream: "signals", scope: "", mode: "watermark" }),
    work({ stream: "signals", scope: "detail:1", mode: "detail" }),
    work({ stream: "accounts", scope: "", mode: "walk", requests: 10 }),
  ];
  const left = (budgets: Record<string, Budget>) =>
    withinBudgets(candidates, { budgets, spent: NOTHING, limit: 100 }).candidates.map(({ mode }) => mode);

  test.each([
    ["looks", ["detail", "walk"]],
    ["content", ["watermark", "walk"]],
    ["walks", ["watermark", "detail"]],
    ["verify", ["watermark", "detail", "walk"]],
  ])("%s", (name, expected) => {
    expect(left({ [name]: aBudget({ perPeriod: credits(0) }) })).toEqual(expected);
  });

  test("a share is one of the period's credits, and allows everything while these are not known", () => {
    const budgets = { walks: aBudget({ perPeriod: { share: 0.04 } }) };
    const walk = (limit: number | null) =>
      withinBudgets(candidates, { budgets, spent: NOTHING, limit }).candidates.at(-1)?.requests;
    expect(walk(100)).toBe(4);
    expect(walk(null)).toBe(10);
  });
});

test("no budget is exceeded, and nothing is left out while all of its budgets have credits", () => {
  const cap = fc.option(fc.integer({ min: 0, max: 20 }).map(credits), { nil: null });
  const budget = fc.record({ perDay: cap, perPeriod: cap, minIntervalMs: fc.constant(0) });
  const budgets = fc.record({ job_openings: budget, filings: budget, walks: budget, looks: budget });
  const candidate = fc
    .record({
      stream: fc.constantFrom("job_openings" as const, "filings" as const),
      mode: fc.constantFrom("walk" as const, "known" as const),
      requests: fc.option(fc.integer({ min: 1, max: 9 }), { nil: null }),
    })
    .map(work);
  fc.assert(
    fc.property(budgets, fc.array(candidate, { maxLength: 20 }), (given, candidates) => {
      const { candidates: within, cuts } = withinBudgets(candidates, { budgets: given, spent: NOTHING, limit: null });
      const sum = (list: readonly Candidate[], name: string) =>
        list
          .filter(({ stream, mode }) => stream === name || (mode === "walk" ? "walks" : "looks") === name)
          .reduce((total, { requests }) => total + (requests ?? 1), 0);
      for (const [name, { perDay, perPeriod }] of Object.entries(given)) {
        const most = Math.min(perDay?.credits ?? 1e9, perPeriod?.credits ?? 1e9);
        expect(sum(within, name)).toBeLessThanOrEqual(most);
      }
      if (cuts.length === 0) expect(within).toEqual(candidates);
      else expect(within).not.toEqual(candidates);
    }),
  );
});

// Days and periods of budgets.

const at = (text: string) => Date.parse(text);
const iso = (ms: number) => new Date(ms).toISOString();

test.each([
  ["2026-11-22T10:00:00Z", "2026-12-01T00:00:00Z", "2026-11-01T00:00:00.000Z"],
  ["2026-11-22T10:00:00Z", "2026-12-15T08:30:00Z", "2026-11-15T08:30:00.000Z"],
  // A reset that has passed: the period that followed it.
  ["2026-11-22T10:00:00Z", "2026-11-15T08:30:00Z", "2026-11-15T08:30:00.000Z"],
  ["2026-11-22T10:00:00Z", "2026-08-15T08:30:00Z", "2026-11-15T08:30:00.000Z"],
  // Months of other lengths.
  ["2026-03-15T00:00:00Z", "2026-03-31T00:00:00Z", "2026-02-28T00:00:00.000Z"],
  ["2026-11-22T10:00:00Z", null, "2026-11-01T00:00:00.000Z"],
])("at %s with a reset at %s the period began at %s", (now, resetsAt, start) => {
  expect(iso(periodStart(at(now), resetsAt === null ? null : at(resetsAt)))).toBe(start);
});

test("a period holds the present and is at most a month long, whatever the reset", () => {
  const time = fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2029-01-01T00:00:00Z") });
  fc.assert(
    fc.property(time, fc.integer({ min: -400, max: 31 }), (now, days) => {
      const start = periodStart(now, now + days * 86_400_000);
      expect(start).toBeLessThanOrEqual(now);
      expect(now - start).toBeLessThanOrEqual(31 * 86_400_000);
    }),
  );
});

test("a day starts at midnight UTC", () => {
  expect(iso(dayStart(at("2026-11-22T23:59:59Z")))).toBe("2026-11-22T00:00:00.000Z");
});

const DAY_MS = 86_400_000;

const aService = (options: FakeOptions = {}) => {
  const service = createFakeService(emptyData(), options);
  for (let id = 1; id <= 20; id++) {
    service.data.accounts.push(anAccount(id));
    service.data.companies.push(aCompany(`c_${id}`));
    service.data.signals.push(aSignal(id, { accountId: id }));
    service.data.lists[`c_${id}`] = { "job-openings": [aJob(`j_${id}`)] };
    service.data.insights[String(id)] = { profile: { accountId: id } };
  }
  return service;
};

/** What one run spent is counted in the next by SQL: `rigOf` says which tables it runs on. */
const start = async <Rig extends Pick<SyncRig, "sync">>(
  rigOf: (service: FakeService, env: Record<string, string>, clock: Clock) => Promise<Rig>,
  options: FakeOptions = {},
) => {
  const service = aService(options);
  const clock = simulatedClock();
  const rig = await rigOf(service, {}, clock);
  const sync = async (budgets: string, request: Parameters<SyncRig["sync"]>[0] = {}) => {
    const synced = await rig.sync(request, { DUCKMIRROR_BUDGETS: budgets });
    const count = (path: RegExp) => synced.sent.filter((one) => path.test(one.path) && one.status === 200).length;
    return { ...synced, count };
  };
  return { service, clock, sync, rig };
};

test("a stream stops at its credits per day, and goes on the next day", async () => {
  const { clock, sync, rig } = await start(startSyncRig);
  const budgets = "job_openings.per_day=7,account_insights.per_day=0";
  const request = { streams: ["accounts", "job_openings", "filings", "account_insights"] };
  const first = await sync(budgets, request);
  expect([/job-openings/, /account-insights/, /filings/].map(first.count)).toEqual([7, 0, 20]);
  expect(first.error).toMatchObject({ code: "BUDGET_REACHED", exitCode: 4 });
  expect(first.error?.message).toContain("account_insights.per_day, job_openings.per_day");
  const { report, of } = first;
  expect([report.status, of("job_openings").status, of("filings").status]).toEqual(["stopped", "stopped", "done"]);
  // The same day: nothing is left of the budget.
  expect((await sync(budgets, request)).count(/job-openings/)).toBe(0);
  await clock.sleep(DAY_MS);
  expect((await sync(budgets, request)).count(/job-openings/)).toBe(7);
  await clock.sleep(DAY_MS);
  expect((await sync("job_openings.per_day=7", request)).count(/job-openings/)).toBe(6);
  expect(await rig.rows("select count(*) n from job_openings")).toEqual([{ n: 20 }]);
});

test("free answers take nothing of a budget", async () => {
  const { service, sync } = await start(startMemoryRig);
  for (let id = 1; id <= 15; id++) delete service.data.lists[`c_${id}`];
  service.data.companies = service.data.companies.filter(({ id }) => Number(String(id).slice(2)) > 15);
  const { count, error } = await sync("job_openings.per_day=6", { streams: ["accounts", "job_openings"] });
  expect(count(/job-openings/)).toBe(5);
  expect(error).toBeNull();
});

test("a walk that a budget interrupts goes on where it stopped, and the counts agree in the end", async () => {
  const { service, clock, sync, rig } = await start(startMemoryRig, { maxPerPage: 5, overPage: "honest" });
  const request = { streams: ["accounts", "contacts", "signals"] };
  let last = await sync("walks.per_day=6", request);
  expect(last.code).toBe("BUDGET_REACHED");
  for (let runs = 0; last.error !== null; runs++) {
    expect(runs).toBeLessThan(10);
    expect(last.code).toBe("BUDGET_REACHED");
    expect(last.paid).toBeLessThanOrEqual(6);
    await clock.sleep(DAY_MS);
    last = await sync("walks.per_day=6", request);
  }
  expect(last.complete).toBe(true);
  for (const list of ["accounts", "signals"] as const) expect(rig.ids(list)).toEqual(idsOf(service.data[list]));
});

test("a share of the period's credits", async () => {
  const { sync } = await start(startSyncRig, { credits: 200 });
  const request = { streams: ["accounts", "filings"] };
  const { count, code } = await sync("filings.per_period=4%", request);
  expect([count(/filings/), code]).toEqual([8, "BUDGET_REACHED"]);
  expect((await sync("filings.per_period=4%", request)).count(/filings/)).toBe(0);
});

test("min_interval: insights of accounts that change every day are read again only when it is over", async () => {
  const { service, clock, sync } = await start(startMemoryRig);
  const budgets = "account_insights.min_interval=7d";
  const request = { streams: ["accounts", "account_insights"] };
  expect((await sync(budgets, request)).count(/account-insights/)).toBe(20);
  const daily: number[] = [];
  for (let day = 1; day <= 8; day++) {
    await clock.sleep(DAY_MS);
    for (const account of service.data.accounts) {
      account.mainScore = Number(account.mainScore) + 1;
      account.updatedAt = new Date(clock.now()).toISOString();
    }
    const { count, error } = await sync(budgets, request);
    expect(error).toBeNull();
    daily.push(count(/account-insights/));
  }
  expect(daily).toEqual([0, 0, 0, 0, 0, 0, 20, 0]);
});

test("min_interval of looks and walks; --full goes over it", async () => {
  const { clock, sync } = await start(startMemoryRig);
  const budgets = "looks.min_interval=12h,walks.min_interval=30d";
  const request = { streams: ["accounts", "signals"] };
  await sync(budgets, request);
  await clock.sleep(6 * 3_600_000);
  expect((await sync(budgets, request)).sent).toEqual([]);
  await clock.sleep(10 * DAY_MS);
  // The weekly walk is not due; a look is.
  expect((await sync(budgets, request)).sent).toHaveLength(2);
  expect((await sync(budgets, { ...request, full: true })).sent.length).toBeGreaterThanOrEqual(2);
});

test("verify has its own budget, and counts in the ledger as such", async () => {
  const rig = await startSyncRig(aService(), { DUCKMIRROR_BUDGETS: "verify.per_day=3" }, simulatedClock());
  await rig.sync();
  const { report } = await rig.verify();
  expect(report.credits.spent).toBe(3);
  expect((await rig.verify()).error).toMatchObject({ code: "BUDGET_REACHED" });
  expect(await rig.rows("select work, count(*) n from sync.requests where work = 'verify' group by all")).toEqual([
    { work: "verify", n: 3 },
  ]);
  const kinds = await rig.rows("select distinct work from sync.requests order by work");
  expect(kinds.map(({ work }) => work)).toEqual(["reading", "record", "verify", "walk"]);
});
