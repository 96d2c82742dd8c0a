// What the ledger decides about shares, its own charges and the reserve (decisions.test.ts has its other edges).
import { describe, expect, test } from "vitest";
import type { Quota } from "../../../../src/api/outcome.ts";
import {
  allowanceAt,
  type LedgerState,
  observe,
  openLedger,
  reserve,
  snapshotOf,
} from "../../../../src/budget/credits/ledger.ts";
import { limits } from "../limits.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RESET = Date.UTC(2026, 0, 15);
const T0 = RESET - 10 * DAY;

const quota = (remaining: number, more: Partial<Quota> = {}): Quota => ({
  limit: 100,
  used: null,
  remaining,
  resetsAt: RESET,
  ...more,
});

describe("ten runs before the reset, and thirty in the next period, share with pace even", () => {
  const grant = { credits: 100, periodMs: 30 * DAY };

  test.each([
    { rule: "what is left, if nothing comes over", rollsOver: undefined, used: 0, left: 250, share: 25 },
    { rule: "the same, if nobody says what was used", rollsOver: grant, used: null, left: 250, share: 25 },
    {
      rule: "earlier credits until the reset, this period's and the next one's beyond it",
      rollsOver: grant,
      used: 0,
      left: 250,
      share: 20,
    },
    { rule: "of this period's grant only what is not used", rollsOver: grant, used: 60, left: 90, share: 8 },
    { rule: "nothing of it, if more than that was used", rollsOver: grant, used: 150, left: 50, share: 5 },
    { rule: "no more than is left before the reset", rollsOver: grant, used: 80, left: 20, share: 2 },
    { rule: "one credit at least", rollsOver: grant, used: 95, left: 5, share: 1 },
  ])("$rule: $share of $left", ({ rollsOver, used, left, share }) => {
    expect(allowanceAt(limits({ pace: "even", rollsOver }), quota(left, { used }), T0)).toBe(share);
  });
});

describe("what is left upstream", () => {
  const known: LedgerState = {
    ...openLedger(limits()),
    reserved: 1,
    unseen: [T0],
    unseenAmbiguous: [T0],
  };
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
