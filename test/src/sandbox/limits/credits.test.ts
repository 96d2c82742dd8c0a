// Credits of the sandbox's organization: months, rolled over credits, refunds.
import { expect, test } from "vitest";
import {
  advanceCredits,
  creditsLeft,
  openCredits,
  quotaOf,
  refundCredit,
  spendCredit,
} from "../../../../src/sandbox/limits/credits.ts";

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
