// Small decisions that the planners share: ages, sizes of pages, why a scope is due again, what was interrupted, which scope has
// changed, and what goes first when credits are few.
import { describe, expect, test } from "vitest";
import { ORGANIZATION_LISTS, STREAM_NAMES, streamSpec } from "../../../../src/catalog/streams.ts";
import type { RowScope } from "../../../../src/core/config/planning/scope-settings.ts";
import type { Checked } from "../../../../src/core/state/last-check.ts";
import { initialForm } from "../../../../src/sync/list/form.ts";
import { openList } from "../../../../src/sync/list/state.ts";
import { walkingState } from "../../../../src/sync/list/stored-state.ts";
import {
  type AccountFact,
  age,
  type DueOptions,
  expectedPageSize,
  interruptedWork,
  isDueByFull,
  pagesOf,
  staleness,
  walkAge,
} from "../../../../src/sync/plan/candidate.ts";
import { changedScopes, countsFromCheck } from "../../../../src/sync/plan/capabilities.ts";
import {
  accountReadWorth,
  accountWorth,
  contentWorth,
  FORBIDDEN_WORTH,
  inputWorth,
  LIST_WORTH,
  listWorth,
  streamsByWorth,
} from "../../../../src/sync/plan/worth.ts";
import { filtersOf, scopeText } from "../../../../src/sync/rows/row-scope.ts";
import { contextOf } from "./planning-input.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 10, 21);
const aContext = contextOf.bind(null, NOW, []);
const aShape = (perPage: number, settled: boolean) => ({ ...initialForm(perPage), settled });

test.each([
  [1, "1 hour"],
  [90 * 60_000, "2 hours"],
  [DAY, "24 hours"],
  [2 * DAY - 1, "48 hours"],
  [2 * DAY, "2 days"],
  [7.6 * DAY, "8 days"],
])("an age of %i ms is shown as %s", (ms, text) => {
  expect(age(ms)).toBe(text);
});

describe("the expected size of a page", () => {
  test("is what the list itself returned, even beside smaller pages elsewhere", () => {
    const shapes = new Map([
      ["accounts", aShape(80, true)],
      ["contacts", aShape(25, true)],
    ] as const);
    expect(expectedPageSize(aContext({ shapes }), "accounts")).toEqual({ rows: 80, known: true });
  });

  test("else what `check` saw, up to the largest page that is asked for", () => {
    const pageSizes = new Map([["accounts", 500]]);
    expect(expectedPageSize(aContext({ pageSizes }), "accounts")).toEqual({ rows: 100, known: true });
  });

  test("else the smallest page of another list; a single record's form says nothing about pages", () => {
    const shapes = new Map([
      ["contacts", aShape(25, true)],
      ["signals", aShape(40, true)],
      ["companies", aShape(1, true)],
    ] as const);
    expect(expectedPageSize(aContext({ shapes }), "accounts")).toEqual({ rows: 25, known: true });
  });

  test("else the largest, as a guess; a size that is still being tried is one, too", () => {
    expect(expectedPageSize(aContext(), "accounts")).toEqual({ rows: 100, known: false });
    const shapes = new Map([["accounts", aShape(50, false)]] as const);
    expect(expectedPageSize(aContext({ shapes }), "accounts")).toEqual({ rows: 50, known: false });
  });
});

test("a list of unknown length has an unknown number of pages, an empty one has one", () => {
  const accounts = streamSpec("accounts");
  expect(pagesOf(aContext(), accounts, null)).toBeNull();
  expect(pagesOf(aContext(), accounts, 0)).toBe(1);
  expect(pagesOf(aContext(), accounts, 101)).toBe(2);
});

test("the budget of walks makes walks rarer, never more frequent", () => {
  const walks = (minIntervalMs: number) =>
    aContext({ budgets: { walks: { perDay: null, perPeriod: null, minIntervalMs } } });
  expect(walkAge(aContext(), 7 * DAY)).toBe(7 * DAY);
  expect(walkAge(walks(30 * DAY), 7 * DAY)).toBe(30 * DAY);
  expect(walkAge(walks(DAY), 7 * DAY)).toBe(7 * DAY);
});

test("--full reads again what was read before the sync began, and what was never read", () => {
  expect(isDueByFull(aContext({ full: true }), NOW)).toBe(true);
  expect(isDueByFull(aContext({ full: true, fullSince: NOW }), NOW - 1)).toBe(true);
  expect(isDueByFull(aContext({ full: true, fullSince: NOW }), NOW)).toBe(false);
  expect(isDueByFull(aContext({ full: true, fullSince: NOW }), null)).toBe(true);
  expect(isDueByFull(aContext(), null)).toBe(false);
});

test("a scope is due again by --full, if it was never completed, or by its age", () => {
  const companies = streamSpec("companies");
  const maxAgeMs = { companies: 2 * DAY };
  const because = (checkedAt: number | null, options: Partial<DueOptions> = {}) =>
    staleness(aContext({ maxAgeMs, ...options }), companies, { checkedAt });
  expect(because(NOW - DAY, { full: true })).toBe("--full");
  expect(because(null)).toBe("never completed");
  expect(because(NOW - 2 * DAY)).toBeNull();
  expect(because(NOW - 2 * DAY - 1)).toBe("older than 2 days");
});

const cursor = (mode: "walk" | "watermark" | "filter" | "known") => {
  const stream = mode === "known" ? "filings" : "contacts";
  const order = { stream, scope: mode === "known" ? "c_1" : "", mode, overlap: false } as const;
  return walkingState(openList({ order, before: undefined, shape: initialForm(10), rows: 0, runId: "r", now: 0 }), "r");
};

test("the cursor says whether a walk was interrupted or a look; nothing was if none is under way", () => {
  const modes = ["walk", "watermark", "filter", "known"] as const;
  expect(modes.map((mode) => interruptedWork(cursor(mode)))).toEqual(["walk", "look", "look", "look"]);
  expect(interruptedWork({ status: "idle", cursor: null })).toBeNull();
  expect(interruptedWork({ ...cursor("watermark"), status: "failed" })).toBeNull();
});

test.each([null, "", "{", "{}", '{"progress":"{"}', '{"progress":{}}'])(
  "a cursor that cannot be read (%s) counts as that of a walk",
  (text) => {
    expect(interruptedWork({ status: "walking", cursor: text })).toBe("walk");
  },
);

const ONE: RowScope = { signals: { type: ["funding"] } };
const TWO: RowScope = { signals: { type: ["funding", "hiring"] } };
const stored = (scope: RowScope) => new Map([["scope.signals", scopeText(scope, "signals")]]);

test("a list's scope has changed if it differs from the one that the list was read with; nothing stored means the whole list", () => {
  expect(changedScopes(new Map(), {})).toEqual([]);
  expect(changedScopes(new Map(), ONE)).toEqual(["signals"]);
  expect(changedScopes(stored(ONE), ONE)).toEqual([]);
  expect(changedScopes(stored(ONE), TWO)).toEqual(["signals"]);
  expect(changedScopes(stored(ONE), {})).toEqual(["signals"]);
});

// Lengths of lists that `check` counted: only those of lists that are read with the same filters now.

const scope = { signals: { type: ["funding"] } };
const filters = JSON.stringify(filtersOf(scope, "signals"));
const checked = (of: string | null = null): Checked => ({
  lists: { signals: { total: 7, page: null, filters: of }, accounts: { total: 9, page: 50, filters: null } },
  credits: { limit: 100, used: 3, remaining: 97, resetsAt: null },
});
const streams = (of: string | null, within: RowScope) => [...countsFromCheck(checked(of), within).totals.keys()];

test("a list that was counted whole is of use where it is read whole", () => {
  expect(streams(null, {})).toEqual(["signals", "accounts", "usage"]);
  expect(streams(null, scope)).toEqual(["accounts", "usage"]);
  expect([...countsFromCheck(checked(), scope).pageSizes]).toEqual([["accounts", 50]]);
});

test("one that was counted with filters is of use with the same ones", () => {
  expect(countsFromCheck(checked(filters), scope).totals.get("signals")).toBe(7);
  expect(streams(filters, {})).toEqual(["accounts", "usage"]);
  expect(streams('{"x":1}', scope)).toEqual(["accounts", "usage"]);
});

test("each used credit is an entry of the request history", () => {
  expect(countsFromCheck(checked(), {}).totals.get("usage")).toBe(3);
});

const anAccount = (priority: number | null, score: number | null): AccountFact => ({
  ...{ id: "a", companyId: "c", priority, score, changedAt: 0 },
});

test("priority decides between accounts, then the score; what is unknown counts as the lowest", () => {
  const worths = [
    [1, 100],
    [1, 0],
    [2, 100],
    [2, 0],
    [3, 100],
    [3, 0],
  ].map(([priority = 0, score = 0]) => accountWorth(anAccount(priority, score)));
  expect(worths).toEqual([...worths].sort((a, b) => b - a));
  expect(accountWorth(anAccount(null, null))).toBe(accountWorth(anAccount(3, 0)));
  expect([accountWorth(anAccount(0, 0)), accountWorth(anAccount(9, 0))]).toEqual([180, 60]);
  expect(accountWorth(undefined)).toBe(accountWorth(anAccount(2, 0)));
});

test("a list that was never read to its end goes before every change of another", () => {
  for (const stream of ORGANIZATION_LISTS)
    for (const other of STREAM_NAMES) expect(listWorth(stream, { unfinished: true })).toBeGreaterThan(listWorth(other));
});

test("the longer ago a list was checked, the more a check is worth, up to a day", () => {
  expect(listWorth("accounts", { sinceCheckMs: DAY / 2 })).toBe(listWorth("accounts") / 2);
  expect(listWorth("accounts", { sinceCheckMs: 9 * DAY })).toBe(listWorth("accounts"));
  expect(listWorth("accounts", { sinceCheckMs: -1 })).toBe(0);
});

test("no read of one company or account is worth a first page of the organization's lists", () => {
  const best = anAccount(1, 100);
  const others = STREAM_NAMES.filter((stream) => !ORGANIZATION_LISTS.includes(stream));
  const worths = others.flatMap((stream) =>
    (["due", "missing or hinted", "interrupted"] as const).map((why) => accountReadWorth(stream, best, why)),
  );
  expect(Math.max(...worths, contentWorth(best), inputWorth())).toBeLessThan(LIST_WORTH);
  // Until each list has shown its first page, nothing below this gets a credit, so no list may be below it.
  for (const list of ORGANIZATION_LISTS) expect(listWorth(list)).toBeGreaterThanOrEqual(LIST_WORTH);
});

test("an interrupted list goes before a missing one of the same company, and that before a refresh", () => {
  const worthOf = (why: "due" | "missing or hinted" | "interrupted") => accountReadWorth("filings", undefined, why);
  expect(worthOf("interrupted")).toBeGreaterThan(worthOf("missing or hinted"));
  // Of the best account, too: else a small budget would only refresh lists that are there.
  expect(accountReadWorth("news_articles", anAccount(3, 0), "missing or hinted")).toBeGreaterThan(
    accountReadWorth("news_articles", anAccount(2, 100)),
  );
  expect(FORBIDDEN_WORTH).toBeLessThan(contentWorth(anAccount(3, 0)));
});

test("streams are named from the most valuable to the usage, which counts the others' requests", () => {
  const streams = streamsByWorth(["usage", "filings", "accounts", "signals"]);
  expect(streams).toEqual(["accounts", "signals", "filings", "usage"]);
});
