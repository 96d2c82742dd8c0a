// Plans as steps of an unknown rate.
import { expect, test } from "vitest";
import { FASTEST_PLAN, slowerPlan } from "../../../../src/budget/rate/plans.ts";

test("an unknown rate starts at the fastest published plan and steps down to the slowest, where it stays", () => {
  const steps = [FASTEST_PLAN];
  for (let step = 0; step < 4; step += 1) steps.push(slowerPlan(steps.at(-1) ?? 0));
  expect(steps).toEqual([300, 120, 60, 10, 10]);
});

test("from a rate between two plans the next one below is taken", () => {
  expect(slowerPlan(100)).toBe(60);
  expect(slowerPlan(5)).toBe(10);
});
