// Limits of the sandbox: credits by month, the sliding window of its rate, and the headers that tell of it.
import { expect, test } from "vitest";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import {
  advanceCredits,
  creditsLeft,
  openCredits,
  quotaOf,
  refundCredit,
  spendCredit,
} from "../../../../src/sandbox/limits/credits.ts";
import {
  createRateWindow,
  openAccount,
  type RateHeaderOptions,
  rateHeaders,
  WINDOW_MS,
} from "../../../../src/sandbox/limits/rate-window.ts";

const month = (nth: number) => Date.UTC(2026, nth, 15);
const PER_MONTH = 10;

test("an unused credit is kept for three later months and gone in the fourth", () => {
  const open = openCredits(month(0), PER_MONTH);
  const left = (nth: number) => creditsLeft(advanceCredits(open, month(nth), PER_MONTH));
  expect([left(0), left(3), left(4), left(12)]).toEqual([10, 40, 40, 40]);
});

test("the oldest credits are spent first, so that the fewest lapse", () => {
  let state = advanceCredits(openCredits(month(0), 2), month(1), 2);
  for (let spent = 0; spent < 3; spent++) state = spendCredit(state);
  expect(state.grants.map(({ left }) => left)).toEqual([0, 1]);
});

test("a refund takes back the credit and its use; use never falls below none", () => {
  const open = openCredits(month(0), PER_MONTH);
  expect(quotaOf(refundCredit(spendCredit(open)))).toEqual(quotaOf(open));
  expect(refundCredit(open).used).toBe(0);
});

test("the quota resets on the first of the next month, also across the year", () => {
  expect(quotaOf(openCredits(Date.UTC(2026, 11, 31), PER_MONTH, 4))).toEqual({
    limit: 10,
    used: 4,
    remaining: 6,
    resetsAt: Date.UTC(2027, 0, 1),
  });
  expect(quotaOf(openCredits(month(0), PER_MONTH, 12))).toMatchObject({ used: 12, remaining: 0 });
});

// Credits while requests are under way.

const anAccount = (credits: number) => {
  const clock = createManualClock(0);
  const account = openAccount(openCredits(0, credits), credits, clock);
  const accept = () => {
    const charge = account.accept();
    if (charge === null) throw new Error("no credit is left");
    return charge;
  };
  return { account, accept, clock };
};

test("no more requests are accepted at once than credits are left, and one that failed gives its place back", () => {
  const { account, accept } = anAccount(2);
  const failing = accept();
  accept();
  expect(account.accept()).toBeNull();
  expect(account.quota()).toMatchObject({ used: 0, remaining: 2 });
  account.settle(failing, 404);
  expect(account.accept()).not.toBeNull();
});

test("a charge is refunded when the request ends in another status after all", () => {
  const { account, accept } = anAccount(1);
  const charge = accept();
  account.spend(charge);
  expect(account.accept()).toBeNull();
  account.settle(charge, 503);
  expect(account.quota()).toMatchObject({ used: 0, remaining: 1 });
  expect(account.accept()).not.toBeNull();
});

test("a request fits as soon as the oldest has left the window, and not a millisecond earlier", () => {
  const window = createRateWindow(2);
  expect(window.take(0)).toEqual({ allowed: true, limit: 2, remaining: 1, resetsAt: WINDOW_MS });
  expect(window.take(1000)).toMatchObject({ allowed: true, remaining: 0, resetsAt: WINDOW_MS });
  expect(window.take(WINDOW_MS - 1)).toMatchObject({ allowed: false, remaining: 0, resetsAt: WINDOW_MS });
  expect(window.take(WINDOW_MS)).toMatchObject({ allowed: true, remaining: 0, resetsAt: 1000 + WINDOW_MS });
});

test("a refused request takes no place", () => {
  const window = createRateWindow(1);
  window.take(0);
  for (let at = 1; at < 50; at++) window.take(at);
  expect(window.take(WINDOW_MS).allowed).toBe(true);
});

test("the limit holds in any minute of a long run, also after old requests were dropped", () => {
  const window = createRateWindow(10);
  const taken = Array.from({ length: 30_000 }, (_, nth) => nth * 3_000).filter((at) => window.take(at).allowed);
  expect(taken.length).toBeGreaterThan(12_000);
  expect(taken.every((at, nth) => at - (taken[nth - 10] ?? -WINDOW_MS) >= WINDOW_MS)).toBe(true);
});

const NOW = Date.UTC(2026, 0, 1);
const reading = { allowed: true, limit: 60, remaining: 12, resetsAt: NOW + 1_500 };
const headers = (options: Partial<RateHeaderOptions>, more: Partial<typeof reading> = {}) =>
  rateHeaders({ ...reading, ...more }, NOW, { dialect: "none", reset: "delta", retryAfter: "seconds", ...options });

test("a reset is rounded up to whole seconds, so that nobody returns too early", () => {
  expect(headers({ dialect: "ratelimit" })).toEqual({
    "ratelimit-policy": '"default";q=60;w=60',
    ratelimit: '"default";r=12;t=2',
  });
  expect(headers({ dialect: "ratelimit-legacy" })).toMatchObject({
    "ratelimit-remaining": "12",
    "ratelimit-reset": "2",
    "ratelimit-policy": "60;w=60",
  });
  expect(headers({ dialect: "ratelimit-legacy" }, { resetsAt: NOW - 5_000 })["ratelimit-reset"]).toBe("0");
});

test("only a refusal says when to come back, after a second at least", () => {
  const refused = { allowed: false, resetsAt: NOW };
  expect(headers({})).toEqual({});
  expect(headers({}, refused)).toEqual({ "retry-after": "1" });
  expect(headers({}, { allowed: false })).toEqual({ "retry-after": "2" });
  expect(headers({ retryAfter: "date" }, refused)).toEqual({ "retry-after": "Thu, 01 Jan 2026 00:00:01 GMT" });
  expect(headers({ retryAfter: "none" }, refused)).toEqual({});
});
