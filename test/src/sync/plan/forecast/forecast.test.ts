// The forecast of a plan: what is due, what follows from it, at the rates of earlier syncs, how far both may be wrong, and how
// wrong they were.
import { describe, expect, test } from "vitest";
import { COMPANY_LISTS } from "../../../../../src/catalog/streams.ts";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import { initialForm } from "../../../../../src/sync/list/form.ts";
import type { AccountFact, Candidate, Context, DueOptions } from "../../../../../src/sync/plan/candidate.ts";
import {
  followUpsOf,
  readsProfiles,
  totalOf,
  unreadAccounts,
} from "../../../../../src/sync/plan/forecast/follow-up.ts";
import {
  errorPercent,
  type Forecast,
  forecastErrorJson,
  forecastJson,
  forecastOf,
  isRange,
} from "../../../../../src/sync/plan/forecast/forecast.ts";
import {
  daysSinceRead,
  expectedFollowUps,
  NO_RATES,
  type PastRun,
  ratesOf,
} from "../../../../../src/sync/plan/forecast/past-runs.ts";
import type { ScopeState } from "../../../../../src/warehouse/record/checkpoint.ts";
import { contextOf, due, idleState, viewOf } from "../planning-input.ts";

const NOW = Date.UTC(2026, 10, 21);
const filings = (more: Partial<Candidate>) =>
  due("filings", "walk", { scope: "c_1", because: "never synced", ...more });
const settled = { ...initialForm(50), settled: true };
const forecastFor = (candidates: readonly Candidate[], options: Partial<DueOptions> = {}) =>
  forecastOf(contextOf(NOW, [], { streams: ["filings"], ...options }), candidates);
const known = { shapes: new Map([["filings", settled]] as const) };

test("requests are added up per stream, and reasons by their number", () => {
  const { streams, requests } = forecastFor(
    [
      filings({ requests: 2 }),
      filings({ scope: "c_2", because: "older than 7 days" }),
      filings({ scope: "c_3" }),
      filings({ stream: "companies", mode: "on-change" }),
    ],
    known,
  );
  expect(requests).toBe(5);
  expect(streams).toMatchObject([
    {
      stream: "filings",
      scopes: 3,
      lists: 3,
      due: 4,
      because: [
        { reason: "never synced", scopes: 2 },
        { reason: "older than 7 days", scopes: 1 },
      ],
    },
    { stream: "companies", lists: 0, due: 1 },
  ]);
});

describe("a forecast is a range", () => {
  test("if a list has an unknown length", () => {
    const found = forecastFor([filings({ requests: null })], known);
    expect(found).toMatchObject({ requests: 1, atLeast: true, unknown: ["filings"] });
    expect(isRange(found)).toBe(true);
  });

  test("if no answer has shown the size of a page: by pages of twenty it may be five times as much", () => {
    const walk = filings({ stream: "accounts", scope: "", requests: 2 });
    const totals = new Map([["accounts", 200]]);
    expect(forecastFor([walk], { streams: ["accounts"], totals })).toMatchObject({ requests: 2, most: 10 });
    const shapes = new Map([["accounts", { ...initialForm(100), settled: true }]] as const);
    expect(forecastFor([walk], { streams: ["accounts"], totals, shapes })).toMatchObject({ requests: 2, most: 2 });
  });

  test("else not", () => {
    expect(isRange(forecastFor([filings({})], known))).toBe(false);
  });
});

test("nothing due is a forecast of nothing", () => {
  expect(forecastFor([])).toMatchObject({ streams: [], requests: 0, most: 0, atLeast: false });
});

test("it is stored with what the run is expected to spend within its allowance", () => {
  const found = forecastFor([filings({ requests: 9 })], known);
  expect(forecastJson(found, 5)).toMatchObject({ credits: 5, requests: 9, atLeast: false, days: {} });
  expect(forecastJson(found, null)).toMatchObject({ credits: 9 });
});

const DAY = 86_400_000;

const anAccount = (id: string, companyId: string | null): AccountFact => ({
  ...{ id, companyId, priority: null, score: null, changedAt: NOW },
});
const aContext = contextOf.bind(null, NOW);
/** Streams and expected credits, by reason. */
const following = (context: Context, candidates: readonly Candidate[], because: RegExp) =>
  Object.fromEntries(
    followUpsOf(context, candidates, NO_RATES)
      .filter((each) => because.test(each.because))
      .map(({ stream, requests }) => [stream, requests]),
  );
const perList = (requests: number) => Object.fromEntries(COMPANY_LISTS.map((list) => [list, requests]));
const accountsState = (more: Partial<ScopeState> = {}) =>
  idleState({ stream: "accounts", scope: "", at: NOW - DAY }, { totalCount: 40, ...more });

describe("accounts not read yet", () => {
  const NOT_READ = /^accounts not read/;

  test("bring an insight each, and the lists of their companies, if this sync reads accounts", () => {
    const context = aContext([accountsState({ walkedAt: null })]);
    expect(following(context, [due("accounts", "walk")], NOT_READ)).toEqual({ account_insights: 40, ...perList(40) });
    expect(following(context, [due("signals", "walk")], NOT_READ)).toEqual({});
  });

  test("share companies as those do that are mirrored already", () => {
    const accounts = [anAccount("1", "c_1"), anAccount("2", "c_1"), anAccount("3", "c_2"), anAccount("4", null)];
    const context = aContext([accountsState({ walkedAt: null })], {}, { accounts });
    expect(following(context, [due("accounts", "walk")], NOT_READ)).toEqual({ account_insights: 36, ...perList(18) });
  });

  test("bring a profile each where the service embeds none, or where content is wanted", () => {
    const lacking = { shapes: new Map([["accounts" as const, { ...initialForm(100), lacks: ["company"] }]]) };
    expect([{}, lacking, { content: ["insights"] }].map((options) => readsProfiles(aContext([], options)))).toEqual([
      false,
      true,
      true,
    ]);
    const context = aContext([accountsState({ walkedAt: null })], lacking);
    expect(following(context, [due("accounts", "walk")], NOT_READ)).toMatchObject({ companies: 40 });
  });

  test("are none once a walk read the list, unknown without a count, and by a check's count before the first sync", () => {
    expect(unreadAccounts(aContext([accountsState()]))).toBe(0);
    expect(unreadAccounts(aContext([]))).toBeNull();
    const checked = aContext([], { totals: new Map([["accounts", 7]]) });
    expect([totalOf(checked, "accounts"), unreadAccounts(checked)]).toEqual([7, 7]);
    // The list's own count is later than the check's.
    const both = aContext([accountsState({ walkedAt: null })], { totals: new Map([["accounts", 7]]) });
    expect(unreadAccounts(both)).toBe(40);
    expect(unreadAccounts(aContext([], { streams: ["signals"] }))).toBe(0);
  });
});

test("a new input brings the four lists of its company; one asked for again, which nobody knows, brings none", () => {
  const resolve = (input: string) => due("companies", "resolve", { scope: `input:${input}` });
  const inputs = [{ input: "unknown.com", companyId: null, resolvedAt: NOW - 9 * DAY }];
  const candidates = [resolve("new.com"), resolve("unknown.com")];
  expect(following(aContext([], {}, { inputs }), candidates, /^inputs not resolved/)).toEqual(perList(1));
  const fewer = aContext([], { streams: ["companies", "filings"] }, { inputs });
  expect(following(fewer, candidates, /^inputs not resolved/)).toEqual({ filings: 1 });
});

test("the first walk of signals asks for one page twice, until it is known which fields a plain request returns", () => {
  const TWICE = /^page a second time, /;
  expect(following(aContext([]), [due("signals", "walk")], TWICE)).toEqual({ signals: 1 });
  expect(following(aContext([]), [due("signals", "watermark")], TWICE)).toEqual({});
  const known = { shapes: new Map([["signals" as const, { ...initialForm(100), inDefault: ["sources"] }]]) };
  expect(following(aContext([], known), [due("signals", "walk")], TWICE)).toEqual({});
});

test("the request history, read last, counts the requests of this sync too, in pages of its own", () => {
  const OWN = /^requests of this sync$/;
  const history = due("usage", "log", { scope: "requests" });
  const many = due("filings", "known", { requests: 250 });
  const read = idleState({ stream: "usage", scope: "requests", at: NOW - DAY });
  expect(following(aContext([read]), [history, many], OWN)).toEqual({ usage: 2 });
  expect(following(aContext([read]), [history], OWN)).toEqual({});
  expect(following(aContext([read]), [many], OWN)).toEqual({});
  // Before its first read it holds the requests of the period so far.
  expect(following(aContext([], {}, { creditsUsed: 300 }), [history, many], OWN)).toEqual({ usage: 5 });
});

const aRun = (more: Partial<Record<"days" | "due" | "spent" | "changed", Record<string, number>>> = {}): PastRun => ({
  atLeast: false,
  days: new Map(Object.entries(more.days ?? { signals: 1, accounts: 1 })),
  due: new Map(Object.entries(more.due ?? {})),
  spent: new Map(Object.entries(more.spent ?? {})),
  changed: new Map(Object.entries(more.changed ?? {})),
});

test("credits beyond the due work, per day since the list that caused them was read", () => {
  const runs = [
    aRun({ days: { signals: 1 }, due: { filings: 2 }, spent: { filings: 5 }, changed: { filings: 8 } }),
    aRun({ days: { signals: 3 }, spent: { filings: 1 } }),
  ];
  const rates = ratesOf(runs, ["filings"]);
  expect(rates.followUpsPerDay.get("filings")).toBe(1);
  expect(rates.changesPerDay.get("filings")).toBe(2);
  expect(expectedFollowUps(rates, "filings", new Map([["signals", 2]]))).toBe(2);
  expect(expectedFollowUps(rates, "filings", new Map())).toBe(0);
});

test("a company's list follows from signals, an insight from its account, an organization's list from itself", () => {
  const runs = [
    aRun({ days: { signals: 1, accounts: 2, contacts: 4 }, spent: { filings: 4, account_insights: 4, contacts: 4 } }),
  ];
  const { followUpsPerDay } = ratesOf(runs, ["filings", "account_insights", "contacts"]);
  expect([...followUpsPerDay.values()]).toEqual([4, 2, 1]);
});

test("hourly syncs that each paid for a search of gone rows announce the same for the next one", () => {
  const hourly = aRun({ days: { signals: 1 / 24 }, due: { signals: 1 }, spent: { signals: 11 } });
  const rates = ratesOf([hourly, hourly], ["signals"]);
  expect(expectedFollowUps(rates, "signals", new Map([["signals", 1 / 24]]))).toBeCloseTo(10);
});

test("less work than was due is no rate below zero, and readings of figures have none", () => {
  const { followUpsPerDay } = ratesOf([aRun({ due: { filings: 9 } })], ["filings", "signal_counts"]);
  expect([...followUpsPerDay]).toEqual([["filings", 0]]);
});

test("syncs within an hour say as little as one an hour apart, and a forecast of unknown length says nothing", () => {
  const minute = aRun({ days: { signals: 1 / 1440 }, spent: { filings: 1 } });
  expect(ratesOf([minute], ["filings"]).followUpsPerDay.get("filings")).toBeCloseTo(24);
  expect(ratesOf([{ ...minute, atLeast: true }], ["filings"])).toEqual(NO_RATES);
  expect(ratesOf([aRun({ days: {} })], ["filings"])).toEqual(NO_RATES);
});

test("days are counted since each organization list was read; the usage by its request history", () => {
  const now = 10 * DAY;
  const states = [
    idleState({ stream: "signals", scope: "", at: 8 * DAY }),
    idleState({ stream: "usage", scope: "usage", at: 9 * DAY }),
    idleState({ stream: "contacts", scope: "", at: now }, { checkedAt: null }),
    idleState({ stream: "filings", scope: "", at: now }),
  ];
  expect([...daysSinceRead(viewOf(now, states))]).toEqual([["signals", 2]]);
});

const aForecast = (more: Partial<Forecast> = {}): Forecast => ({
  ...{ streams: [], requests: 110, atLeast: false, most: 110, unknown: [], days: new Map() },
  ...more,
});
const ended = (status: "done" | "stopped" | "partial", spent = 100) => ({
  status,
  credits: { spent, ambiguous: 0, remaining: null, limit: null, resets_at: null },
});
const percentOf = (...of: Parameters<typeof forecastErrorJson>) => forecastErrorJson(...of).error_percent;

test.each([
  [110, 100, 10],
  [90, 100, -10],
  [1, 3, -66.7],
  [2, 0, 200],
  [0, 0, 0],
])("a forecast of %i for %i spent is wrong by %d%%", (credits, spent, percent) => {
  expect(errorPercent(credits, spent)).toBe(percent);
});

test("a run that did all of its work, or ended for lack of credits, is compared", () => {
  const compared = { credits: 110, at_least: false, spent: 100, error_percent: 10 };
  expect(forecastErrorJson(aForecast(), null, ended("done"), null)).toEqual(compared);
  for (const code of ["BUDGET_SPENT", "QUOTA_SPENT"] as const)
    expect(percentOf(aForecast(), null, ended("stopped"), new DuckmirrorError(code))).toBe(10);
});

test("one that something else ended is not, nor one of unknown length", () => {
  expect(percentOf(aForecast(), null, ended("stopped"), new DuckmirrorError("DURATION_SPENT"))).toBeNull();
  expect(percentOf(aForecast(), null, ended("partial"), new DuckmirrorError("STREAMS_FAILED"))).toBeNull();
  expect(percentOf(aForecast({ atLeast: true }), null, ended("done"), null)).toBeNull();
  expect(percentOf(aForecast({ most: 111 }), null, ended("done"), null)).toBeNull();
});

test("a run is expected to spend no more than its allowance", () => {
  expect(forecastErrorJson(aForecast(), 50, ended("done", 50), null)).toMatchObject({ credits: 50, error_percent: 0 });
});
