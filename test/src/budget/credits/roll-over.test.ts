// Unused credits at a reset: what the service's figures show, and pace `even` across the reset.
import { expect, test } from "vitest";
import type { Quota } from "../../../../src/api/outcome.ts";
import { allowanceAt, type Grant } from "../../../../src/budget/credits/ledger.ts";
import { type PeriodReadings, rollOverOf } from "../../../../src/budget/credits/roll-over.ts";
import {
  advanceCredits,
  creditsLeft,
  openCredits,
  quotaOf,
  spendCredit,
} from "../../../../src/sandbox/limits/credits.ts";
import { limits } from "../limits.ts";

const DAY = 86_400_000;
const END = Date.UTC(2026, 11, 1);
const NEXT = Date.UTC(2027, 0, 1);

const quota = (limit: number, used: number, remaining: number, resetsAt: number): Quota => ({
  limit,
  used,
  remaining,
  resetsAt,
});
const reading = (at: number, figures: Quota): PeriodReadings => ({
  first: figures,
  last: figures,
  firstAt: at,
  lastAt: at,
});
const before = reading(END - DAY, quota(100, 40, 60, END));
const after = (figures: readonly [number, number, number]) => reading(END + DAY, quota(...figures, NEXT));

test.each([
  ["remaining is above the limit", after([100, 0, 160]), { shown: "seen", grant: 100 }],
  ["the limit counts what came over", after([160, 5, 155]), { shown: "seen", grant: 100 }],
  ["a part lapsed", after([100, 0, 120]), { shown: "seen", grant: 100 }],
  ["nothing came over", after([100, 1, 99]), { shown: "absent", grant: 100 }],
  ["a larger plan", after([5000, 0, 5000]), { shown: "unknown", grant: null }],
  ["a smaller plan", after([50, 0, 50]), { shown: "unknown", grant: null }],
])("what a reset shows: %s", (_, reset, shown) => {
  expect(rollOverOf([reset, before])).toMatchObject(shown);
});

test("without a reset, without credits left, or with an end that moves, nothing is shown; an earlier reset counts", () => {
  expect(rollOverOf([]).shown).toBe("unknown");
  expect(rollOverOf([before]).shown).toBe("unknown");
  const spent = reading(END - DAY, quota(100, 100, 0, END));
  expect(rollOverOf([spent, after([100, 0, 100])]).shown).toBe("unknown");
  const moving = [0, 1, 2].map((day) => reading(END + day * DAY, quota(100, 40, 60, END + (30 + day) * DAY)));
  expect(rollOverOf(moving).shown).toBe("unknown");
  const later = reading(NEXT + DAY, quota(100, 0, 100, NEXT + 31 * DAY));
  const used = { ...after([100, 0, 160]), last: quota(100, 160, 0, NEXT), lastAt: NEXT - DAY };
  expect(rollOverOf([before, used, later])).toEqual({ shown: "seen", grant: 100, periodMs: 31 * DAY });
});

/** A day's run each day of half a year, with as much due as it may spend from day 25 on. */
const halfYear = (rollsOver: Grant | undefined) => {
  let state = openCredits(Date.UTC(2026, 0, 1), 100);
  let granted = 100;
  const days: number[] = [];
  for (let day = 0; day < 181; day++) {
    const now = Date.UTC(2026, 0, 1) + day * DAY;
    const next = advanceCredits(state, now, 100);
    granted += 100 * (next.cycle - state.cycle);
    state = next;
    const due = day < 25 ? 1 : Number.POSITIVE_INFINITY;
    const most = Math.min(
      due,
      allowanceAt(limits({ pace: "even", rollsOver }), quotaOf(state), now) ?? 0,
      creditsLeft(state),
    );
    for (let credit = 0; credit < most; credit++) state = spendCredit(state);
    days.push(most);
  }
  const spent = days.reduce((sum, credits) => sum + credits, 0);
  return { days, lapsed: granted - spent - creditsLeft(state), most: Math.max(...days) };
};

test("pace even spreads unused credits across the reset where they come over, and none lapses", () => {
  const until = halfYear(undefined);
  const across = halfYear({ credits: 100, periodMs: 30 * DAY });
  expect([until.lapsed, across.lapsed]).toEqual([0, 0]);
  // 75 credits in 6 days, then 3 a day; or 4 to 6 a day through the reset.
  expect(until.days[30]).toBeGreaterThan(10);
  expect(across.most).toBeLessThanOrEqual(6);
  expect(Math.min(...across.days.slice(25, 59))).toBeGreaterThanOrEqual(4);
});
