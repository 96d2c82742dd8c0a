// The sliding window of the sandbox's rate limit.
import { expect, test } from "vitest";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import { openCredits } from "../../../../src/sandbox/limits/credits.ts";
import { createRateWindow, openAccount, WINDOW_MS } from "../../../../src/sandbox/limits/rate-window.ts";

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
