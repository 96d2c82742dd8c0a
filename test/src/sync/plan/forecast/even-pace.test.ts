// Credits that do not suffice until the reset: the most valuable streams stay fresh, the others say how old they get.
import { expect, test } from "vitest";
import type { Quota } from "../../../../../src/api/outcome.ts";
import { agingOf, creditsNow } from "../../../../../src/sync/plan/forecast/even-pace.ts";

// What is known of the credits now, from a reading that may be of a period that is over.

const DAY = 86_400_000;
const RESET = Date.UTC(2026, 10, 1);
const reading = (more: Partial<Quota> = {}): Quota => ({
  limit: 1000,
  used: 400,
  remaining: 600,
  resetsAt: RESET,
  ...more,
});

test("until its reset a reading is true; without one, or without a reset, nothing is added", () => {
  expect(creditsNow(reading(), RESET - 1)).toEqual({ used: 400, remaining: 600, limit: 1000, resetsAt: RESET });
  expect(creditsNow(reading({ resetsAt: null }), RESET + DAY)).toMatchObject({ remaining: 600, resetsAt: null });
  expect(creditsNow(null, RESET)).toEqual({ used: null, remaining: null, limit: null, resetsAt: null });
});

test("after the reset the new period has its credits and those that were left", () => {
  const next = Date.UTC(2026, 11, 1);
  expect(creditsNow(reading(), RESET)).toEqual({ used: 0, remaining: 1600, limit: 1000, resetsAt: next });
  const seen = { shown: "seen", grant: 900, periodMs: null } as const;
  expect(creditsNow(reading(), RESET, seen)).toMatchObject({ remaining: 1500, limit: 900 });
  expect(creditsNow(reading(), RESET, { ...seen, shown: "absent" })).toMatchObject({ remaining: 900 });
});

test("after two resets, or where the remainder was not reported, nothing but the limit is known", () => {
  const unknown = { used: null, remaining: null, limit: 1000, resetsAt: null };
  expect(creditsNow(reading(), Date.UTC(2026, 11, 1))).toEqual(unknown);
  expect(creditsNow(reading({ used: null, remaining: null }), RESET)).toEqual(unknown);
  expect(creditsNow(reading({ limit: null }), RESET)).toEqual({ ...unknown, limit: null });
});

test.each([
  ["2026-01-31T12:00:00.000Z", "2026-02-28T12:00:00.000Z"],
  ["2026-01-29T00:00:00.000Z", "2026-02-28T00:00:00.000Z"],
  ["2026-03-31T00:00:00.000Z", "2026-04-30T00:00:00.000Z"],
  ["2026-12-31T00:00:00.000Z", "2027-01-31T00:00:00.000Z"],
])("a period that ended on %s is followed by one that ends on %s", (ended, ends) => {
  const resetsAt = new Date(ended).getTime();
  expect(creditsNow(reading({ resetsAt }), resetsAt).resetsAt).toBe(new Date(ends).getTime());
});

const needs = new Map([
  ["filings", { credits: 100, ageDays: 30 }],
  ["accounts", { credits: 100, ageDays: 1 }],
] as const);

test.each([
  [200, []],
  [150, [{ stream: "filings", days: 60 }]],
  [100, [{ stream: "filings", days: null }]],
  [
    50,
    [
      { stream: "accounts", days: 2 },
      { stream: "filings", days: null },
    ],
  ],
  [
    0,
    [
      { stream: "accounts", days: null },
      { stream: "filings", days: null },
    ],
  ],
  [
    -5,
    [
      { stream: "accounts", days: null },
      { stream: "filings", days: null },
    ],
  ],
])("with %s of 200 credits", (credits, aging) => {
  expect(agingOf(needs, credits)).toEqual(aging);
});

test("a stream that needs nothing does not age", () => {
  expect(agingOf(new Map([["accounts", { credits: 0, ageDays: 1 }]] as const), 0)).toEqual([]);
});
