// What the ledger decides at its edges, one decision at a time: the properties of the other files say what must
// hold over whole histories.
import { describe, expect, test } from "vitest";
import type { Quota } from "../../../src/api/outcome.ts";
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
