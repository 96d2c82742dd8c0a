// Small decisions that the planners share: ages, sizes of pages, why a scope is due again.
import { describe, expect, test } from "vitest";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { initialShape } from "../../../../src/sync/list/form.ts";
import {
  age,
  type DueOptions,
  expectedPageSize,
  isDueByFull,
  pagesOf,
  staleness,
  walkAge,
} from "../../../../src/sync/plan/candidate.ts";
import { contextOf } from "./planning-input.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 10, 21);
const aContext = contextOf.bind(null, NOW, []);
const aShape = (perPage: number, settled: boolean) => ({ ...initialShape(perPage), settled });

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
