// What ledger and limiter decide at their edges, one decision at a time: the properties of the other files say what must
// hold over whole histories.
import { describe, expect, test } from "vitest";
import type { Quota, RateInfo } from "../../../src/api/outcome.ts";
import {
  type LedgerState,
  type Limits,
  observe,
  openLedger,
  periodOf,
  remainingIn,
  reserve,
  settle,
  snapshotOf,
} from "../../../src/budget/credits/ledger.ts";
import { backOff, nextSlot, observeRate, ratePerMinute, takeSlot, windowMs } from "../../../src/budget/rate/limiter.ts";
import { startLimiter } from "../../../src/budget/rate/limiter-state.ts";
import { said } from "../../support/rate-info.ts";
import { limits } from "./limits.ts";

const T0 = Date.UTC(2026, 0, 5, 10);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RESET = T0 + 10 * DAY;

const quota = (more: Partial<Quota> = {}): Quota => ({
  limit: 100,
  used: null,
  remaining: 50,
  resetsAt: RESET,
  ...more,
});
const taken = (state: LedgerState): LedgerState => {
  const reservation = reserve(state, T0);
  if (!reservation.ok) throw new Error(reservation.code);
  return reservation.state;
};

describe("ledger", () => {
  test("it opens with nothing", () => {
    expect(openLedger(limits())).toEqual({
      limits: limits(),
      spent: 0,
      reserved: 0,
      ambiguous: [],
      period: null,
      unseen: [],
      unseenAmbiguous: [],
      reporting: false,
      paced: null,
      baseline: null,
    });
    expect(snapshotOf(openLedger(limits()), T0)).toEqual({
      spent: 0,
      ambiguous: 0,
      reserved: 0,
      allowance: null,
      remaining: null,
      limit: null,
      resetsAt: null,
    });
  });

  test.each([
    [{ remaining: 7 }, 7],
    [{ remaining: 7.9 }, 7],
    [{ remaining: -3 }, 0],
    [{ remaining: null, limit: 10, used: 4 }, 6],
    [{ remaining: null, limit: 10, used: 14 }, 0],
    [{ remaining: null, limit: null, used: 4 }, null],
    [{ remaining: null, limit: 10, used: null }, null],
    [{ remaining: null, limit: null, used: null }, null],
  ])("%j leaves %j", (figures, left) => {
    expect(remainingIn(quota(figures))).toBe(left);
  });

  test("ends of periods less than an hour apart are one; unknown ends tell nothing", () => {
    const known = { limit: 100, remaining: 50, resetsAt: RESET };
    expect(periodOf(null, RESET)).toBe("later");
    expect(periodOf(known, null)).toBe("same");
    expect(periodOf({ ...known, resetsAt: null }, RESET)).toBe("same");
    expect(periodOf(known, RESET + HOUR - 1)).toBe("same");
    expect(periodOf(known, RESET - HOUR + 1)).toBe("same");
    expect(periodOf(known, RESET + HOUR)).toBe("later");
    expect(periodOf(known, RESET - HOUR)).toBe("earlier");
  });

  test("the last credit may be spent, and not one more; the reserve stays", () => {
    const one = observe(openLedger(limits()), quota({ remaining: 1 }), T0, T0);
    expect(reserve(one, T0)).toMatchObject({ ok: true, state: { reserved: 1 } });
    expect(reserve(taken(one), T0)).toEqual({ ok: false, code: "QUOTA_SPENT", settling: true });
    const none = observe(openLedger(limits()), quota({ remaining: 0 }), T0, T0);
    expect(reserve(none, T0)).toEqual({ ok: false, code: "QUOTA_SPENT", settling: false });
    const kept = observe(openLedger(limits({ reserve: 5 })), quota({ remaining: 6 }), T0, T0);
    expect(reserve(kept, T0).ok).toBe(true);
    expect(reserve(taken(kept), T0)).toEqual({ ok: false, code: "BUDGET_SPENT", settling: true });
    expect(snapshotOf(kept, T0).allowance).toBe(1);
    // A period that is over says nothing about the next one.
    expect(reserve(none, RESET - 1).ok).toBe(false);
    expect(reserve(none, RESET).ok).toBe(true);
  });

  test("settling moves a reserved credit to where it belongs", () => {
    const state = taken(openLedger(limits()));
    expect(settle(state, "free", T0)).toMatchObject({ reserved: 0, spent: 0, unseen: [], reporting: false });
    expect(settle(state, "spent", T0)).toMatchObject({ reserved: 0, spent: 1, unseen: [T0], reporting: true });
    expect(settle(state, "ambiguous", T0)).toMatchObject({
      reserved: 0,
      ambiguous: [T0],
      unseenAmbiguous: [T0],
      reporting: false,
    });
    const twice = settle(settle(taken(taken(openLedger(limits()))), "ambiguous", T0), "ambiguous", T0 + 1);
    expect(twice).toMatchObject({ ambiguous: [T0, T0 + 1], unseenAmbiguous: [T0, T0 + 1] });
    expect(settle(openLedger(limits()), "free", T0).reserved).toBe(0);
  });

  test("a service without figures does not fill memory; with figures every unseen charge is kept", () => {
    const many = Array.from({ length: 1_500 }, (_, index) => index);
    const silent = { ...openLedger(limits()), unseen: many, reserved: 1 };
    expect(settle(silent, "spent", 9_999).unseen).toEqual([...many.slice(-1_000), 9_999]);
    const known = { ...silent, period: { limit: null, remaining: 5_000, resetsAt: null } };
    expect(settle(known, "spent", 9_999).unseen).toHaveLength(1_501);
  });

  test("a figure shows the charges settled before its request was sent, and its own", () => {
    const state: LedgerState = {
      ...openLedger(limits()),
      unseen: [T0 - 1, T0, T0 + 1],
      period: { limit: 100, remaining: 60, resetsAt: RESET },
    };
    expect(observe(state, quota(), T0, T0).unseen).toEqual([T0, T0 + 1]);
    expect(observe({ ...state, reporting: true }, quota(), T0, T0)).toMatchObject({ unseen: [T0], reporting: false });
    const silent = observe({ ...state, reporting: true }, quota({ remaining: null }), T0, T0);
    expect(silent).toMatchObject({ unseen: state.unseen, reporting: false, period: state.period });
    const late = observe({ ...state, reporting: true }, quota({ resetsAt: RESET - DAY }), T0, T0);
    expect(late).toMatchObject({ unseen: state.unseen, reporting: false, period: state.period });
  });

  test("an unknown charge may still come for a minute; then a figure shows it", () => {
    const state: LedgerState = {
      ...openLedger(limits()),
      unseen: [T0],
      ambiguous: [T0],
      unseenAmbiguous: [T0],
      period: { limit: 100, remaining: 60, resetsAt: RESET },
    };
    expect(observe(state, quota(), T0 + 60_000, T0 + 60_000).unseenAmbiguous).toEqual([T0]);
    expect(observe(state, quota(), T0 + 60_001, T0 + 60_001).unseenAmbiguous).toEqual([]);
  });

  test("figures of one period: the lowest remainder, what was left out stays as it was", () => {
    const state = observe(openLedger(limits()), quota(), T0, T0);
    expect(observe(state, quota({ remaining: 60 }), T0, T0).period).toEqual({
      limit: 100,
      remaining: 50,
      resetsAt: RESET,
    });
    expect(observe(state, quota({ remaining: 40, limit: null, resetsAt: null }), T0, T0).period).toEqual({
      limit: 100,
      remaining: 40,
      resetsAt: RESET,
    });
    expect(observe(state, quota({ limit: 200, resetsAt: RESET + 5 }), T0, T0).period).toEqual({
      limit: 200,
      remaining: 50,
      resetsAt: RESET + 5,
    });
  });

  test("ambiguous requests are settled by the fall of the figures, once they are old and nothing is in flight", () => {
    const rested = observe(openLedger(limits()), quota(), T0, T0);
    expect(rested.baseline).toEqual({ remaining: 50, spent: 0 });
    const doubtful = (count: number): LedgerState => ({
      ...rested,
      ambiguous: Array.from({ length: count }, () => T0),
    });
    const late = T0 + 60_001;
    expect(observe(doubtful(2), quota({ remaining: 49 }), late, late)).toMatchObject({
      spent: 1,
      ambiguous: [],
      unseenAmbiguous: [],
      baseline: { remaining: 49, spent: 1 },
    });
    expect(observe(doubtful(2), quota({ remaining: 40 }), late, late)).toMatchObject({ spent: 2, ambiguous: [] });
    expect(observe(doubtful(2), quota(), late, late)).toMatchObject({ spent: 0, ambiguous: [] });
    for (const open of [
      observe(doubtful(2), quota({ remaining: 49 }), T0 + 60_000, late),
      observe({ ...doubtful(2), ambiguous: [T0, T0 + 5_000] }, quota({ remaining: 49 }), late, late),
      observe({ ...doubtful(2), reserved: 1 }, quota({ remaining: 49 }), late, late),
      observe({ ...doubtful(2), unseen: [late] }, quota({ remaining: 49 }), late, late),
      observe({ ...doubtful(2), baseline: null }, quota({ remaining: 49 }), late, late),
      observe({ ...doubtful(2), baseline: { remaining: 40, spent: 0 } }, quota({ remaining: 49 }), late, late),
    ]) {
      expect(open).toMatchObject({ spent: 0 });
      expect(open.ambiguous).toHaveLength(2);
    }
  });

  test("even pacing shares what is left beyond the reserve over the runs to come", () => {
    const even = (more: Partial<Limits> = {}) => openLedger(limits({ pace: "even", ...more }));
    expect(observe(even(), quota({ remaining: 50 }), T0, T0).paced).toBe(5);
    expect(observe(even({ reserve: 20 }), quota({ remaining: 50 }), T0, T0).paced).toBe(3);
    expect(observe(even(), quota({ remaining: 3 }), T0, T0).paced).toBe(1);
    expect(observe(even(), quota({ resetsAt: null }), T0, T0).paced).toBeNull();
    expect(observe(openLedger(limits()), quota(), T0, T0).paced).toBeNull();
    expect(observe(even(), quota({ resetsAt: T0 - 1 }), T0, T0).paced).toBe(50);
    // Its own credits came out of the first figure; in a period of its own they come on top of the share.
    const first = observe(settle(taken(even()), "spent", T0), quota({ remaining: 49 }), T0, T0);
    expect(first.paced).toBe(5);
    const next = observe(first, quota({ remaining: 100, resetsAt: RESET + 30 * DAY }), T0, RESET + 20 * DAY);
    expect(next).toMatchObject({ paced: 11, baseline: { remaining: 100, spent: 1 }, unseenAmbiguous: [] });
    const busy = observe(
      { ...first, reserved: 2 },
      quota({ remaining: 100, resetsAt: RESET + 30 * DAY }),
      T0,
      RESET + 20 * DAY,
    );
    expect(busy).toMatchObject({ paced: 11, baseline: null });
  });

  test("what is left shows charges the figure does not hold yet; the allowance holds what is spent", () => {
    const state: LedgerState = {
      ...observe(openLedger(limits({ reserve: 10 })), quota(), T0, T0),
      spent: 3,
      unseen: [T0, T0],
    };
    expect(snapshotOf(state, T0)).toMatchObject({ remaining: 48, allowance: 41, limit: 100, resetsAt: RESET });
    expect(snapshotOf({ ...state, limits: limits({ maxCredits: 20 }) }, T0).allowance).toBe(20);
    expect(snapshotOf({ ...state, unseen: Array.from({ length: 60 }, () => T0) }, T0)).toMatchObject({
      remaining: 0,
      allowance: 3,
    });
  });
});

describe("limiter", () => {
  const MINUTE = 60_000;
  const learned = (more: Partial<RateInfo>, configured: number | null = null, inFlight = 0) =>
    observeRate(startLimiter(configured), said(more), inFlight, T0);

  test("the slower of what was set and what was said counts, in its own window", () => {
    expect(ratePerMinute(startLimiter(60))).toBeCloseTo(60 / 1.01);
    expect(windowMs(startLimiter(60))).toBe(MINUTE);
    expect(ratePerMinute(learned({ limit: 30 }, 60))).toBeCloseTo(30 / 1.01);
    expect(ratePerMinute(learned({ limit: 90 }, 60))).toBeCloseTo(60 / 1.01);
    expect(windowMs(learned({ limit: 90, windowMs: 5_000 }))).toBe(5_000);
    expect(windowMs(learned({ limit: 600, windowMs: HOUR }, 60))).toBe(HOUR);
    expect(ratePerMinute(learned({ limit: 600, windowMs: HOUR }, 60))).toBeCloseTo(10 / 1.01);
    expect(ratePerMinute(learned({}, null))).toBeCloseTo(300 / 1.01);
  });

  test("a limit below one says nothing; one is one", () => {
    expect(learned({ limit: 0 }).learned).toBeNull();
    expect(learned({ limit: 0.5 }).learned).toBeNull();
    expect(learned({ limit: 1 }).learned).toEqual({ limit: 1, windowMs: MINUTE });
    const known = learned({ limit: 10 });
    expect(observeRate(known, said({}), 0, T0).learned).toEqual({ limit: 10, windowMs: MINUTE });
    expect(observeRate(known, null, 0, T0)).toMatchObject({ learned: { limit: 10 }, aloneUntil: -Infinity });
  });

  test("a window without a name is a minute, and grows when two answers agree on a longer reset", () => {
    const short = learned({ limit: 10, resetsAt: T0 + 6_000 });
    expect(windowMs(short)).toBe(MINUTE);
    const once = observeRate(short, said({ limit: 10, resetsAt: T0 + 90_000 }), 0, T0);
    expect(windowMs(once)).toBe(MINUTE);
    expect(windowMs(observeRate(once, said({ limit: 10, resetsAt: T0 + 90_000 }), 0, T0))).toBe(90_000);
    expect(windowMs(observeRate(once, said({ limit: 11, resetsAt: T0 + 5 }), 0, T0))).toBe(MINUTE);
  });

  test("a window without a name is found when the service forgets requests sooner than in a minute", () => {
    let state = learned({ limit: 300, remaining: 299, resetsAt: T0 + 6_000 });
    for (let second = 1; second <= 40; second += 1) {
      const now = T0 + second * 1_000;
      for (let n = 0; n < 5; n += 1) state = takeSlot(state, now);
      const remaining = 300 - Math.min(second, 6) * 5;
      state = observeRate(state, said({ limit: 300, remaining, resetsAt: now + 6_000 }), 0, now);
    }
    expect(windowMs(state)).toBe(6_000);
  });

  test("nothing but a remainder with a reset to come holds requests back", () => {
    const full = { limit: 10, remaining: 4, resetsAt: T0 + 30_000 };
    expect(learned(full)).toMatchObject({ spare: 4, refilledAt: T0 + 30_000 });
    expect(learned(full, null, 3)).toMatchObject({ spare: 1 });
    for (const other of [{ remaining: null }, { resetsAt: null }]) {
      expect(learned({ ...full, ...other })).toMatchObject({ spare: null, refilledAt: -Infinity });
    }
    expect(learned({ remaining: 4, resetsAt: T0 + 30_000 })).toMatchObject({ spare: 4 });
    expect(nextSlot(learned({ ...full, remaining: 0 }))).toEqual({ at: T0 + 30_000, why: "remaining" });
    expect(nextSlot(learned({ ...full, remaining: 1 })).why).not.toBe("remaining");
  });

  test("a request that leaves uses one up, until the moment they are filled up again", () => {
    const some = learned({ limit: 10, remaining: 4, resetsAt: T0 + 30_000 });
    expect(takeSlot(some, T0 + 29_999).spare).toBe(3);
    expect(takeSlot(some, T0 + 30_000).spare).toBe(0);
    expect(takeSlot(startLimiter(10), T0).spare).toBeNull();
    expect(takeSlot({ ...some, spare: null }, T0).spare).toBeNull();
  });

  test("what this process used up itself holds nothing back, what others used up does", () => {
    const spareAfter = (times: readonly number[], remaining: number, now: number) => {
      const start = learned({ limit: 100, windowMs: MINUTE });
      const sent = times.reduce((state, time) => takeSlot(state, time), start);
      return observeRate(sent, said({ limit: 100, windowMs: MINUTE, remaining, resetsAt: now + 10_000 }), 0, now).spare;
    };
    expect(spareAfter([T0, T0 + 1], 98, T0 + 1_000)).toBeNull();
    expect(spareAfter([T0, T0 + 1], 97, T0 + 1_000)).toBe(97);
    expect(spareAfter([T0, T0 + 1], 98, T0 + 62_000)).toBe(98);
  });

  test("requests are counted by hundred-and-twentieths of the window, each for at least its whole window", () => {
    const times = [T0 + 1, T0 + 499, T0 + 501];
    const { sent } = times.reduce((state, time) => takeSlot(state, time), startLimiter(60));
    expect(sent).toEqual([
      { from: T0 + 500, count: 2 },
      { from: T0 + 1_000, count: 1 },
    ]);
  });

  test("a request whose answer was slow counts from when it may have arrived at the latest", () => {
    const sent = takeSlot(takeSlot(startLimiter(60), T0), T0 + 2_000);
    const quick = observeRate(sent, null, 1, T0 + 2_100, { sentAt: T0 + 2_000, answeredAt: T0 + 2_100 });
    const slow = observeRate(quick, null, 0, T0 + 9_100, { sentAt: T0, answeredAt: T0 + 9_100 });
    expect(slow.sent).toEqual([
      { from: T0 + 2_000, count: 1 },
      { from: T0 + 9_000, count: 1 },
    ]);
  });

  test("only a guessed rate is lowered by a refusal, once in a minute; refusals ten seconds apart count for caution", () => {
    const once = backOff(startLimiter(null), T0 + 5, T0);
    expect(once).toMatchObject({ assumed: 120, slowedAt: T0, blockedUntil: T0 + 5, aloneUntil: -Infinity });
    expect(backOff(once, T0, T0 + 9_999)).toMatchObject({ assumed: 120, slowedAt: T0, blockedUntil: T0 + 5 });
    const twice = backOff(once, T0, T0 + 10_000);
    expect(twice).toMatchObject({ assumed: 120, slowedAt: T0 + 10_000, refusals: 2 });
    // The window may have been full of requests from before the step.
    expect(backOff(twice, T0, T0 + 59_999)).toMatchObject({ assumed: 120 });
    expect(backOff(twice, T0, T0 + 60_000)).toMatchObject({ assumed: 60, slowedAt: T0 + 60_000 });
    expect(backOff(startLimiter(60), T0, T0)).toMatchObject({ assumed: 300 });
    expect(backOff(learned({ limit: 60 }), T0, T0)).toMatchObject({ assumed: 300 });
    expect(backOff(learned({ limit: 60 }, 60), T0, T0)).toMatchObject({ assumed: 300 });
  });

  test("of several reasons to wait the one that lasts longest is named, pace first", () => {
    const state = { ...startLimiter(60), slot: T0, started: true };
    expect(nextSlot(state)).toEqual({ at: T0 + 1_010, why: "pace" });
    expect(nextSlot({ ...state, blockedUntil: T0 + 1_010 })).toEqual({ at: T0 + 1_010, why: "pace" });
    expect(nextSlot({ ...state, blockedUntil: T0 + 2_000 })).toEqual({ at: T0 + 2_000, why: "refused" });
    expect(nextSlot({ ...state, aloneUntil: T0 + 3_000, blockedUntil: T0 + 2_000 }).why).toBe("first-answer");
  });
});
