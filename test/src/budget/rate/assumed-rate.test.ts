// The rate that nobody names, after refusals and after the answers that follow them.
import { describe, expect, test } from "vitest";
import {
  assumeFaster,
  assumeSlower,
  FASTEST_PLAN,
  planAfterRefusal,
  slowerPlan,
} from "../../../../src/budget/rate/assumed-rate.ts";

// Plans as steps of an unknown rate.

test("an unknown rate starts at the fastest published plan and steps down to the slowest, where it stays", () => {
  const steps = [FASTEST_PLAN];
  for (let step = 0; step < 4; step += 1) steps.push(slowerPlan(steps.at(-1) ?? 0));
  expect(steps).toEqual([300, 120, 60, 10, 10]);
});

test("from a rate between two plans the next one below is taken", () => {
  expect(slowerPlan(100)).toBe(60);
  expect(slowerPlan(5)).toBe(10);
});

test("after a refusal the rate is a plan's that the requests of a whole minute fit", () => {
  expect([121, 120, 61, 59, 12, 3].map((sent) => planAfterRefusal(300, sent))).toEqual([120, 120, 60, 10, 10, 120]);
});

test("of less than a minute, others may have sent the rest: a count between two plans is taken for the faster one", () => {
  expect([121, 61, 31, 66, 67, 12, 3].map((sent) => planAfterRefusal(300, sent, true))).toEqual([
    120, 60, 60, 60, 120, 60, 120,
  ]);
  // No published plan lies between.
  expect(planAfterRefusal(120, 80, true)).toBe(60);
});

const NOW = 1_000_000_000;
const AT_60 = { assumed: 60, steppedAt: -Infinity, loweredFrom: null, retried: null };
/** So many requests in the last minute, and `before` it. */
const sentIn =
  (sent: number, before = 0) =>
  (ms: number) =>
    ms === Infinity ? sent + before : sent;
const slower = (
  sent: number,
  more: { assumed?: number; steppedAt?: number; loweredFrom?: number; retried?: number } = {},
  isCalm = true,
) => assumeSlower({ ...AT_60, ...more }, sentIn(sent, 100), { now: NOW, isCalm });

describe("a refusal lowers it", () => {
  test("for good, if the slower plan explains the refusal", () => {
    expect(slower(20)).toEqual({ assumed: 10, steppedAt: NOW, loweredFrom: null });
  });

  test("for a while, if hardly a request was sent, or a whole minute of them had been answered", () => {
    expect(slower(3)).toMatchObject({ assumed: 10, loweredFrom: 60 });
    expect(slower(58)).toMatchObject({ assumed: 10, loweredFrom: 60 });
    // Others may have sent the rest of the minute in which this process began.
    expect(assumeSlower(AT_60, sentIn(58), { now: NOW, isCalm: true })).toMatchObject({ loweredFrom: null });
  });

  test("and further refusals keep the rate that it is to return to", () => {
    expect(slower(20, { assumed: 10, loweredFrom: 60 })).toMatchObject({ assumed: 10, loweredFrom: 60 });
    expect(slower(20, { steppedAt: NOW - 59_999 })).toEqual({});
  });

  test("for good, if it was tried again a moment ago", () => {
    expect(slower(3, { retried: 60 }, false)).toMatchObject({ assumed: 10, loweredFrom: null });
    expect(slower(3, { retried: 60 }, true)).toMatchObject({ assumed: 10, loweredFrom: 60 });
  });
});

test("it returns after a minute without a refusal in which half of the lower rate was used", () => {
  expect(assumeFaster(10, 60, 5, 60_000)).toEqual({ assumed: 60, loweredFrom: null, retried: 60 });
  expect(assumeFaster(10, 60, 4, 60_000)).toEqual({});
  expect(assumeFaster(10, 60, 5, 59_999)).toEqual({});
});
