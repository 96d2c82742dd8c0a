// Plans as steps of an unknown rate.
import { expect, test } from "vitest";
import { FASTEST_PLAN, planWithin, slowerPlan } from "../../../../src/budget/rate/plans.ts";

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
  expect([121, 120, 61, 59, 12, 3].map((sent) => planWithin(300, sent))).toEqual([120, 120, 60, 10, 10, 120]);
});

test("of less than a minute, others may have sent the rest: a count between two plans is taken for the faster one", () => {
  expect([121, 61, 31, 66, 67, 12, 3].map((sent) => planWithin(300, sent, true))).toEqual([
    120, 60, 60, 60, 120, 60, 120,
  ]);
  // No published plan lies between.
  expect(planWithin(120, 80, true)).toBe(60);
});
