// The outlook of a plan: totals before the first sync, changes at the rate of the last syncs, what recurs, deficits, ages at an
// even pace, credits that roll over, content.
import { describe, expect, test } from "vitest";
import { COMPANY_LISTS, STREAM_NAMES, type StreamName } from "../../../../../src/catalog/streams.ts";
import { initialForm, type ListForm } from "../../../../../src/sync/list/form.ts";
import type { Candidate, Context, DueOptions, MirrorView } from "../../../../../src/sync/plan/candidate.ts";
import { dueCandidates } from "../../../../../src/sync/plan/due.ts";
import { creditsUntil, cyclesOf, detailsPerSignal } from "../../../../../src/sync/plan/forecast/cycles.ts";
import { forecastOf } from "../../../../../src/sync/plan/forecast/forecast.ts";
import { agingOf, outlookOf } from "../../../../../src/sync/plan/forecast/outlook.ts";
import { NO_RATES, type PastRun, type Rates, ratesOf } from "../../../../../src/sync/plan/forecast/past-runs.ts";
import type { ScopeState } from "../../../../../src/warehouse/record/checkpoint.ts";
import { contextOf, due, dueOptions, idleState, viewOf } from "../planning-input.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);

const aState = (stream: StreamName, scope: string, at = NOW - DAY): ScopeState => idleState({ stream, scope, at });

/** A mirror of `accounts` accounts that was read completely a day ago; without accounts: an empty one. */
const aContext = (accounts: number, options: Partial<DueOptions> = {}): Context => {
  const ids = Array.from({ length: accounts }, (_, i) => String(i));
  const states = [
    ...(["accounts", "contacts", "signals", "signal_counts"] as const).map((stream) => aState(stream, "")),
    ...["usage", "limits", "requests"].map((scope) => aState("usage", scope, NOW)),
    ...ids.map((id) => aState("account_insights", id)),
    ...COMPANY_LISTS.flatMap((list) => ids.map((id) => aState(list, `c${id}`))),
  ];
  const view = viewOf(NOW, accounts === 0 ? [] : states, {
    accounts: ids.map((id) => ({ id, companyId: `c${id}`, priority: 1, score: 50, changedAt: NOW - 2 * DAY })),
    companies: new Set(ids.map((id) => `c${id}`)),
  });
  return { view, options: dueOptions(options) };
};

const planned = (context: Context, rates: Rates = NO_RATES) => {
  const candidates = dueCandidates(context.view, context.options);
  return { candidates, forecast: forecastOf(context, candidates, rates) };
};

const lookedAhead = (context: Context, remaining: number | null, days: number, rates: Rates = NO_RATES) =>
  outlookOf({
    ...planned(context, rates),
    context,
    rates,
    credits: { used: null, remaining, limit: 1000, resetsAt: NOW + days * DAY },
    reserve: 0,
    ratePerMinute: null,
    pacing: "burst",
    syncEveryMs: DAY,
  });

test("a plan waits for whole windows, whose requests go at once, or evenly where the settings say so", () => {
  const context = aContext(0);
  const { candidates, forecast } = planned(context);
  const minutes = (requests: number, pacing: "burst" | "even") =>
    outlookOf({
      context,
      candidates,
      forecast: { ...forecast, requests },
      rates: NO_RATES,
      credits: { used: null, remaining: null, limit: null, resetsAt: null },
      reserve: 0,
      ratePerMinute: 10,
      pacing,
      syncEveryMs: DAY,
    }).minutes;
  expect([0, 3, 10, 11, 20, 21].map((requests) => minutes(requests, "burst"))).toEqual([0, 0, 0, 1, 1, 2]);
  expect(minutes(21, "even")).toBe(2.1);
});

describe("before the first sync", () => {
  test("with the totals of a check, the forecast holds what the accounts bring", () => {
    const totals = new Map([
      ["accounts", 40],
      ["contacts", 390],
      ["signals", 1001],
      ["usage", 150],
    ]);
    const { forecast } = planned(aContext(0, { totals }));
    const credits = Object.fromEntries(forecast.streams.map(({ stream, requests }) => [stream, requests]));
    // Pages of contacts share a row, so 390 of them take five.
    expect(credits).toMatchObject({ accounts: 1, contacts: 5, signals: 12, account_insights: 40, filings: 40 });
    expect([forecast.atLeast, forecast.unknown, forecast.requests]).toEqual([
      false,
      [],
      1 + 5 + 12 + 1 + 5 * 40 + 2 + 4,
    ]);
  });

  test("without them it names the lists of unknown length, and no outlook is made up", () => {
    const context = aContext(0);
    const { forecast } = planned(context);
    expect([forecast.atLeast, forecast.unknown]).toEqual([true, ["accounts", "contacts", "signals", "usage"]]);
    expect(lookedAhead(context, 500, 20)).toMatchObject({ leftAtReset: null, short: null, emptyOn: null });
  });
});

describe("until the reset", () => {
  test("a deficit is below zero, and has a day and a number", () => {
    // 20 accounts: 3 looks a day, weekly walks of one page, and 40 lists a week from the sixth day on.
    const { leftAtReset, short, emptyOn } = lookedAhead(aContext(20), 60, 20);
    expect(leftAtReset).toBeLessThan(0);
    expect(short).toBe(-(leftAtReset ?? 0));
    expect(emptyOn).toBe(NOW + 6 * DAY);
  });

  test("at an even pace the least valuable streams get old, and the oldest are not read at all", () => {
    const { aging } = lookedAhead(aContext(20), 100, 20);
    const [first] = aging;
    expect(first).toMatchObject({ stream: "news_articles" });
    expect(first?.days).toBeGreaterThan(7);
    expect(aging.slice(1)).toContainEqual({ stream: "job_openings", days: null });
    expect(lookedAhead(aContext(20), 100_000, 20).aging).toEqual([]);
  });

  test("enough credits leave some, and what rolls over covers further periods", () => {
    const { leftAtReset, short, emptyOn, coveredPeriods } = lookedAhead(aContext(20), 900, 20);
    expect(leftAtReset).toBeGreaterThan(500);
    expect([short, emptyOn, coveredPeriods]).toEqual([0, null, null]);
    const many = lookedAhead(aContext(100), 4000, 20);
    expect(many.perPeriod).toBeGreaterThan(1000);
    expect(many.coveredPeriods).toBe(Math.min(3, Math.floor((many.leftAtReset ?? 0) / (many.perPeriod - 1000))));
  });

  test("content that takes requests of its own is shown beside the projection without it", () => {
    const changed = new Map([["signals", 7]]);
    const run: PastRun = { atLeast: false, days: new Map([["signals", 1]]), due: new Map(), spent: new Map(), changed };
    const { streams } = lookedAhead(aContext(30), 900, 20, ratesOf([run], STREAM_NAMES));
    const of = (name: StreamName) => streams.find(({ stream }) => stream === name);
    expect(of("companies")).toMatchObject({ withoutContent: 0, withContent: 1 });
    const signals = of("signals");
    expect((signals?.withContent ?? 0) - (signals?.withoutContent ?? 0)).toBeCloseTo(7, 5);
    expect(of("filings")).toMatchObject({ withoutContent: 1, withContent: 1 });
  });
});

describe("changes", () => {
  const aRun = (spent: number): PastRun => ({
    atLeast: false,
    days: new Map([
      ["accounts", 0.5],
      ["signals", 0.5],
    ]),
    due: new Map([["account_insights", 2]]),
    spent: new Map([["account_insights", spent]]),
    changed: new Map(),
  });

  test("work that followed from changes in the last syncs is foreseen at its rate", () => {
    const rates = ratesOf([aRun(5), aRun(7)], STREAM_NAMES);
    expect(rates.followUpsPerDay.get("account_insights")).toBe(8);
    const { forecast } = planned(aContext(20), rates);
    expect(forecast.streams.find(({ stream }) => stream === "account_insights")).toMatchObject({ due: 0, requests: 8 });
  });

  test("work that is foreseen once is kept apart from what changes bring", () => {
    const { forecast } = planned(aContext(20, { companies: ["acme.com"] }), ratesOf([aRun(5)], STREAM_NAMES));
    const of = (name: StreamName) => forecast.streams.find(({ stream }) => stream === name);
    expect(of("filings")).toMatchObject({ due: 0, once: 1, requests: 1 });
    expect(of("account_insights")).toMatchObject({ due: 0, once: 0, requests: 6 });
  });
});

// Credits that do not suffice until the reset: the most valuable streams stay fresh, the others say how old they get.

const needs = new Map([
  ["filings", { credits: 100, ageDays: 30 }],
  ["accounts", { credits: 100, ageDays: 1 }],
] as const);

test.each([
  [200, []],
  [150, ["filings 60"]],
  [100, ["filings null"]],
  [50, ["accounts 2", "filings null"]],
  [0, ["accounts null", "filings null"]],
  [-5, ["accounts null", "filings null"]],
])("with %s of 200 credits these streams get so many days old: %j", (credits, aging) => {
  expect(agingOf(needs, credits).map(({ stream, days }) => `${stream} ${days}`)).toEqual(aging);
});

test("a stream that needs nothing does not age", () => {
  expect(agingOf(new Map([["accounts", { credits: 0, ageDays: 1 }]] as const), 0)).toEqual([]);
});

const ofOneAccount = (
  states: readonly ScopeState[],
  options: Partial<DueOptions> = {},
  view: Partial<MirrorView> = {},
): Context => {
  const accounts = [{ id: "1", companyId: "c_1", priority: 1, score: 50, changedAt: NOW }];
  return contextOf(NOW, states, options, { accounts, companies: new Set(["c_1"]), ...view });
};
const cyclesIn = (context: Context, stream: StreamName, planned: readonly Candidate[] = []) =>
  cyclesOf({ context, due: planned, syncEveryMs: DAY }).flatMap(({ stream: name, ...cycle }) =>
    name === stream ? [cycle] : [],
  );
const countedState = (stream: StreamName, scope: string, days: number, totalCount: number | null) =>
  idleState({ stream, scope, at: NOW - days * DAY }, { totalCount });

describe("an organization's list", () => {
  const accounts = countedState("accounts", "", 5, 250);

  test("takes one look in every sync, and what a walk costs beyond it when the walk is due", () => {
    expect(cyclesIn(ofOneAccount([accounts]), "accounts")).toEqual([
      { credits: 1, everyMs: DAY, nextAt: NOW + DAY },
      { credits: 2, everyMs: 7 * DAY, nextAt: NOW + 2 * DAY },
    ]);
  });

  test("that this sync walks is walked again a whole period later; an overdue walk waits for the next sync", () => {
    const [, walkedNow] = cyclesIn(ofOneAccount([accounts]), "accounts", [due("accounts", "walk")]);
    expect(walkedNow?.nextAt).toBe(NOW + 7 * DAY);
    const [, overdue] = cyclesIn(ofOneAccount([countedState("accounts", "", 30, 250)]), "accounts");
    expect(overdue?.nextAt).toBe(NOW + DAY);
  });

  test("of a service that shows no changes is walked in every sync, so no walk comes on top", () => {
    const shapes = (more: Partial<ListForm>) => new Map([["accounts" as const, { ...initialForm(100), ...more }]]);
    const [look, more] = cyclesIn(ofOneAccount([accounts], { shapes: shapes({ changeOrder: false }) }), "accounts");
    expect([look?.credits, more?.credits]).toEqual([3, 0]);
    // Contacts have a filter by change date; a page of the whole list shows its count.
    const contacts = countedState("contacts", "", 5, 250);
    const order = new Map([["contacts" as const, { ...initialForm(100), changeOrder: false }]]);
    expect(cyclesIn(ofOneAccount([contacts], { shapes: order }), "contacts")[0]?.credits).toBe(2);
  });
});

describe("what is read again by age", () => {
  test("a company's list takes a credit each time, and every fourth time a walk of all of its pages", () => {
    const [news, ...more] = cyclesIn(ofOneAccount([countedState("news_articles", "c_1", 2, 500)]), "news_articles");
    // 500 rows are five pages, six where pages share a row.
    expect(news).toEqual({ credits: 1 + 5 / 4, everyMs: 7 * DAY, nextAt: NOW + 5 * DAY });
    expect(more).toEqual([]);
  });

  test("accounts that the sync reads for the first time bring insights and lists that recur, too", () => {
    const context = ofOneAccount([], { totals: new Map([["accounts", 11]]) });
    const [mirrored, unread] = cyclesIn(context, "filings");
    expect([mirrored?.credits, unread]).toEqual([1, { credits: 10, everyMs: 30 * DAY, nextAt: NOW + 30 * DAY }]);
    expect(cyclesIn(context, "account_insights").map(({ credits }) => credits)).toEqual([1, 10]);
  });

  test("profiles recur for followed companies only, as those of accounts come with them", () => {
    const inputs = [{ input: "acme.com", companyId: "c_9", resolvedAt: NOW }];
    const followed = { companies: ["acme.com", "new.com"] };
    const profiles = (options: Partial<DueOptions>) =>
      cyclesIn(ofOneAccount([], options, { inputs }), "companies").map(({ credits }) => credits);
    // One resolved, one still to be resolved.
    expect(profiles(followed)).toEqual([1, 1]);
    // With content, each profile takes a request of its own: c_1 and c_9, and new.com.
    expect(profiles({ ...followed, content: ["insights"] })).toEqual([1, 1, 1]);
  });
});

test("what comes up before the end is added by day; what comes up at the end is not", () => {
  const added: unknown[] = [];
  const cycle = { stream: "filings", credits: 2, everyMs: DAY, nextAt: NOW + DAY / 2 } as const;
  creditsUntil([cycle], NOW, NOW + 2.5 * DAY, (...credit) => added.push(credit));
  expect(added).toEqual([
    ["filings", 0, 2],
    ["filings", 1, 2],
  ]);
});

test("the content of a new signal takes a request unless it is not wanted or the list returns it", () => {
  const details = (content: readonly string[], grants: readonly string[]) =>
    detailsPerSignal(
      ofOneAccount([], { content, shapes: new Map([["signals", { ...initialForm(10), grants: [...grants] }]]) }),
    );
  expect(details([], [])).toBe(0);
  expect(details(["fullContent"], [])).toBe(1);
  expect(details(["fullContent"], ["fullContent"])).toBe(0);
});
