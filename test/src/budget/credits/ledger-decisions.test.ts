// What the ledger decides at its edges, one decision at a time; ledger.test.ts says what holds over whole histories.
import { describe, expect, test } from "vitest";
import type { Quota } from "../../../../src/api/outcome.ts";
import {
  allowanceAt,
  type LedgerState,
  type Limits,
  observe,
  openLedger,
  periodOf,
  remainingIn,
  reserve,
  settle,
  snapshotOf,
} from "../../../../src/budget/credits/ledger.ts";
import { limits } from "../limits.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RESET = Date.UTC(2026, 0, 15);
const T0 = RESET - 10 * DAY;

const quota = (remaining: number | null = 50, more: Partial<Quota> = {}): Quota => ({
  limit: 100,
  used: null,
  remaining,
  resetsAt: RESET,
  ...more,
});

/** A ledger that has heard a figure. */
const heard = (remaining = 50, more: Partial<Limits> = {}): LedgerState =>
  observe(openLedger(limits(more)), quota(remaining), T0, T0);
const taken = (state: LedgerState): LedgerState => {
  const reservation = reserve(state, T0);
  if (!reservation.ok) throw new Error(reservation.code);
  return reservation.state;
};

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
  expect(remainingIn(quota(50, figures))).toBe(left);
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
  const one = heard(1);
  expect(reserve(one, T0)).toMatchObject({ ok: true, state: { reserved: 1 } });
  expect(reserve(taken(one), T0)).toEqual({ ok: false, code: "QUOTA_SPENT", settling: true });
  const none = heard(0);
  expect(reserve(none, T0)).toEqual({ ok: false, code: "QUOTA_SPENT", settling: false });
  const kept = heard(6, { reserve: 5 });
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
  const silent = observe({ ...state, reporting: true }, quota(null), T0, T0);
  expect(silent).toMatchObject({ unseen: state.unseen, reporting: false, period: state.period });
  const late = observe({ ...state, reporting: true }, quota(50, { resetsAt: RESET - DAY }), T0, T0);
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

test.each([
  { rule: "the lowest remainder counts", figure: quota(60), period: {} },
  { rule: "what is left out stays", figure: quota(40, { limit: null, resetsAt: null }), period: { remaining: 40 } },
  {
    rule: "limit and reset are the newest",
    figure: quota(50, { limit: 200, resetsAt: RESET + 5 }),
    period: { limit: 200, resetsAt: RESET + 5 },
  },
])("of two figures of one period $rule", ({ figure, period }) => {
  const known = { limit: 100, remaining: 50, resetsAt: RESET };
  expect(observe(heard(), figure, T0, T0).period).toEqual({ ...known, ...period });
});

test("ambiguous requests are settled by the fall of the figures, once they are old and nothing is in flight", () => {
  const rested = heard();
  expect(rested.baseline).toEqual({ remaining: 50, spent: 0 });
  const doubtful = (more: Partial<LedgerState> = {}): LedgerState => ({ ...rested, ambiguous: [T0, T0], ...more });
  const late = T0 + 60_001;
  expect(observe(doubtful(), quota(49), late, late)).toMatchObject({
    spent: 1,
    ambiguous: [],
    unseenAmbiguous: [],
    baseline: { remaining: 49, spent: 1 },
  });
  expect(observe(doubtful(), quota(40), late, late)).toMatchObject({ spent: 2, ambiguous: [] });
  expect(observe(doubtful(), quota(), late, late)).toMatchObject({ spent: 0, ambiguous: [] });
  const open = { spent: 0, ambiguous: [expect.any(Number), expect.any(Number)] };
  expect(observe(doubtful(), quota(49), T0 + 60_000, late)).toMatchObject(open);
  for (const more of [
    { ambiguous: [T0, T0 + 5_000] },
    { reserved: 1 },
    { unseen: [late] },
    { baseline: null },
    { baseline: { remaining: 40, spent: 0 } },
  ])
    expect(observe(doubtful(more), quota(49), late, late)).toMatchObject(open);
});

test("even pacing shares what is left beyond the reserve over the runs to come", () => {
  const even = { pace: "even" } as const;
  const pacedAt = (resetsAt: number | null) => observe(openLedger(limits(even)), quota(50, { resetsAt }), T0, T0).paced;
  expect([heard(50, even).paced, heard(50, { ...even, reserve: 20 }).paced, heard(3, even).paced]).toEqual([5, 3, 1]);
  expect([heard().paced, pacedAt(null), pacedAt(T0 - 1)]).toEqual([null, null, 50]);
  // Its own credits came out of the first figure; in a period of its own they come on top of the share.
  const first = observe(settle(taken(openLedger(limits(even))), "spent", T0), quota(49), T0, T0);
  expect(first.paced).toBe(5);
  expect(reserve({ ...first, spent: 4 }, T0).ok).toBe(true);
  expect(reserve({ ...first, spent: 5 }, T0)).toMatchObject({ ok: false, code: "BUDGET_SPENT" });
  const inNextPeriod = (state: LedgerState) =>
    observe(state, quota(100, { resetsAt: RESET + 30 * DAY }), T0, RESET + 20 * DAY);
  expect(inNextPeriod(first)).toMatchObject({ paced: 11, baseline: { remaining: 100, spent: 1 }, unseenAmbiguous: [] });
  expect(inNextPeriod({ ...first, reserved: 2 })).toMatchObject({ paced: 11, baseline: null });
});

test("what is left shows charges the figure does not hold yet; the allowance holds what is spent", () => {
  const state = { ...heard(50, { reserve: 10 }), spent: 3, unseen: [T0, T0] };
  expect(snapshotOf(state, T0)).toMatchObject({ remaining: 48, allowance: 41, limit: 100, resetsAt: RESET });
  expect(snapshotOf({ ...state, limits: limits({ maxCredits: 20 }) }, T0).allowance).toBe(20);
  const more = { ...state, unseen: Array.from({ length: 60 }, () => T0) };
  expect(snapshotOf(more, T0)).toMatchObject({ remaining: 0, allowance: 3 });
});

describe("ten runs before the reset, and thirty in the next period, share with pace even", () => {
  const grant = { credits: 100, periodMs: 30 * DAY };

  test.each([
    { rule: "what is left, if nothing comes over", rollsOver: undefined, used: 0, left: 250, share: 25 },
    { rule: "the same, if nobody says what was used", rollsOver: grant, used: null, left: 250, share: 25 },
    { rule: "earlier credits apart from the two periods' own", rollsOver: grant, used: 0, left: 250, share: 20 },
    { rule: "of this period's grant only what is not used", rollsOver: grant, used: 60, left: 90, share: 8 },
    { rule: "nothing of it, if more than that was used", rollsOver: grant, used: 150, left: 50, share: 5 },
    { rule: "no more than is left before the reset", rollsOver: grant, used: 80, left: 20, share: 2 },
    { rule: "one credit at least", rollsOver: grant, used: 95, left: 5, share: 1 },
  ])("$rule: $share of $left", ({ rollsOver, used, left, share }) => {
    expect(allowanceAt(limits({ pace: "even", rollsOver }), quota(left, { used }), T0)).toBe(share);
  });
});

describe("what is left upstream", () => {
  const known: LedgerState = { ...openLedger(limits()), reserved: 1, unseen: [T0], unseenAmbiguous: [T0] };
  const withLeft = (remaining: number | null) => ({ ...known, period: { limit: 100, remaining, resetsAt: RESET } });

  test("is the figure less what is reserved, and less every request that it may not hold", () => {
    expect(reserve(withLeft(4), T0).ok).toBe(true);
    expect(reserve(withLeft(3), T0)).toEqual({ ok: false, code: "QUOTA_SPENT", settling: true });
  });

  test("is unknown without a figure, and limits nothing", () => {
    expect(reserve(withLeft(null), T0).ok).toBe(true);
    expect(snapshotOf(withLeft(null), T0)).toMatchObject({ remaining: null, allowance: null });
  });
});

describe("the reserve stays although a period still lasts that ended an hour ago by this clock", () => {
  const END = RESET + HOUR;
  const keeping = openLedger(limits({ reserve: 50 }));
  const period = { limit: 100, remaining: 60, resetsAt: RESET };

  test.each([
    { rule: "what is left above it may be spent", state: keeping, sentAt: END, paced: 10 },
    { rule: "nothing, if less is left", state: keeping, sentAt: END, left: 40, paced: 0 },
    { rule: "within the hour the next figure may come", state: keeping, sentAt: END - 1, paced: null },
    { rule: "without a reset no period ends", state: keeping, sentAt: END, resetsAt: null, paced: null },
    { rule: "without a reserve nothing is kept", state: openLedger(limits()), sentAt: END, paced: null },
    { rule: "a share that was decided stays", state: { ...keeping, period, paced: 3 }, sentAt: END, paced: 3 },
  ])("$rule", ({ state, sentAt, left = 60, resetsAt = RESET, paced }) => {
    expect(observe(state, quota(left, { resetsAt }), sentAt, sentAt).paced).toBe(paced);
  });

  test("what was spent comes on top, and what the figure may not hold is subtracted", () => {
    const busy = { ...keeping, period, spent: 2, reserved: 1, ambiguous: [END], unseen: [END], unseenAmbiguous: [END] };
    // 3 are spent or may be; of 10 above the reserve the figure may lack 2.
    expect(observe(busy, quota(60), END, END).paced).toBe(3 + 8);
  });
});
