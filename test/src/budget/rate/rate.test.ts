// Rates, and the time between two requests that keeps one.
import { expect, test } from "vitest";
import { perMinute, slowest, spacingMs } from "../../../../src/budget/rate/rate.ts";

test("a window never holds more requests than are allowed, with a margin for late arrivals", () => {
  expect(spacingMs(perMinute(60))).toBeCloseTo(1010);
  expect(spacingMs({ limit: 5, windowMs: 1000 })).toBeCloseTo(202);
});

test("of several limits the one counts that allows the fewest requests in the same time", () => {
  const [perSecond, perHour] = [
    { limit: 10, windowMs: 1000 },
    { limit: 100, windowMs: 3_600_000 },
  ];
  expect(slowest([perSecond, perHour, perMinute(60)])).toBe(perHour);
  expect(slowest([])).toBeUndefined();
});
