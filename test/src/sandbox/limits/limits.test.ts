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
import { createRateWindow, openAccount, rateHeaders, WINDOW_MS } from "../../../../src/sandbox/limits/rate-window.ts";
import { fakeClock, get, NOW, send, withSandbox } from "../sandbox-client.ts";

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

test("a reset is rounded up to whole seconds, so that nobody returns too early; only a refusal says when to come back", () => {
  const headers = (resetsAt: number, allowed = true) =>
    rateHeaders({ allowed, limit: 60, remaining: 12, resetsAt: NOW + resetsAt }, NOW);
  expect(headers(1_500)).toEqual({
    "ratelimit-limit": "60",
    "ratelimit-remaining": "12",
    "ratelimit-reset": "2",
    "ratelimit-policy": "60;w=60",
  });
  expect(headers(-5_000)["ratelimit-reset"]).toBe("0");
  expect([headers(1_500, false), headers(0, false)]).toMatchObject([{ "retry-after": "2" }, { "retry-after": "1" }]);
});

// The same over HTTP.

test("a plan allows its requests in any minute, each token has a window of its own, and what is refused is free", async () => {
  const clock = fakeClock();
  await withSandbox({ plan: "free", clock, moreTokens: ["second"] }, async (sandbox) => {
    expect((await send(sandbox, "/v1/usage/limits")).headers.get("ratelimit-remaining")).toBe("9");
    clock.advance(20_000);
    for (let sent = 1; sent < 10; sent++) await get(sandbox, "/v1/accounts/1", 404);
    const refused = await send(sandbox, "/v1/accounts");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "40"]);
    const other = await send(sandbox, "/v1/accounts", { headers: { authorization: "Bearer second" } });
    expect(other.status).toBe(200);
    clock.advance(39_999);
    await get(sandbox, "/v1/accounts", 429);
    clock.advance(1);
    // One request has left the sliding window, so one may enter.
    await get(sandbox, "/v1/accounts");
    await get(sandbox, "/v1/accounts", 429);
    expect(sandbox.stats()).toMatchObject({ byStatus: { 200: 3, 404: 9, 429: 3 }, credits: { used: 3 } });
  });
});

test("a 200 costs one credit, whatever its size; spent ones are refused until the month ends, then roll over", async () => {
  const clock = fakeClock(Date.UTC(2026, 0, 30));
  await withSandbox({ credits: 3, clock }, async (sandbox) => {
    const resetsAt = "2026-02-01T00:00:00.000Z";
    expect((await get(sandbox, "/v1/signals?perPage=100")).usage).toEqual({
      limit: 3,
      used: 1,
      remaining: 2,
      resetsAt,
    });
    await get(sandbox, "/v1/accounts/1", 404);
    await get(sandbox, "/v1/accounts?perPage=x", 400);
    expect((await get(sandbox, "/v1/account-insights?query=zzz")).usage?.used).toBe(2);
    await get(sandbox, "/v1/usage/limits");
    await get(sandbox, "/v1/accounts", 402);
    for (const [month, limit] of [
      [1, 3],
      [2, 5],
    ] as const) {
      clock.advance(Date.UTC(2026, month, 1) - clock.now());
      expect((await get(sandbox, "/v1/accounts")).usage).toMatchObject({ limit, used: 1, remaining: limit - 1 });
    }
  });
});

test("latency is waited on the clock, between its bounds", async () => {
  const clock = fakeClock();
  await withSandbox({ clock, latencyMs: "200-300" }, (sandbox) => get(sandbox, "/v1/accounts"));
  expect(clock.now() - NOW).toBeGreaterThanOrEqual(200);
  expect(clock.now() - NOW).toBeLessThanOrEqual(300);
});
