// Tallies round the time of a request, but never let one count for less than its window, nor for 1% more.
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  countBetween,
  countOne,
  countWithin,
  moveOne,
  roomAt,
  type Tally,
  tallySpan,
} from "../../../../src/budget/rate/tallies.ts";

const WINDOW = 60_000;
const aTally = (times: readonly number[]) =>
  times.reduce<readonly Tally[]>((tallies, at) => countOne(tallies, at, WINDOW, 10 * WINDOW, at), []);

const someTimes = fc
  .array(fc.integer({ min: 0, max: 2 * WINDOW }), { minLength: 1, maxLength: 200 })
  .map((times) => times.map((at) => at + 1_000_000));

test("a request counts for its whole window and at most one tally longer, in whatever order requests are counted", () => {
  fc.assert(
    fc.property(someTimes, fc.integer({ min: 0, max: 3 * WINDOW }), (times, after) => {
      const tallies = aTally(times);
      expect(tallies.reduce((sum, { count }) => sum + count, 0)).toBe(times.length);
      expect(tallies.map(({ from }) => from)).toEqual(
        [...new Set(tallies.map(({ from }) => from))].sort((a, b) => a - b),
      );
      const now = 1_000_000 + after;
      const counted = countWithin(tallies, WINDOW, now);
      expect(counted).toBeGreaterThanOrEqual(times.filter((at) => at > now - WINDOW).length);
      expect(counted).toBeLessThanOrEqual(times.filter((at) => at > now - WINDOW - tallySpan(WINDOW)).length);
    }),
  );
});

test("there is room again exactly when fewer than the limit count", () => {
  fc.assert(
    fc.property(someTimes, fc.integer({ min: 1, max: 50 }), (times, most) => {
      const tallies = aTally(times);
      const at = roomAt(tallies, WINDOW, most);
      if (at === -Infinity) {
        expect(times.length).toBeLessThan(most);
        return;
      }
      expect(countWithin(tallies, WINDOW, at)).toBeLessThan(most);
      expect(countWithin(tallies, WINDOW, at - 1)).toBeGreaterThanOrEqual(most);
    }),
  );
});

test("a request that may have arrived later is moved, not counted twice", () => {
  const tallies = aTally([1_000_000, 1_000_000]);
  const moved = moveOne(tallies, 1_000_000, 5_000, WINDOW, 10 * WINDOW, 1_005_000);
  expect(moved.map(({ count }) => count)).toEqual([1, 1]);
  expect(countBetween(moved, 999_999, 1_000_000)).toBe(1);
  expect(countBetween(moved, 1_000_000, 1_005_000)).toBe(1);
  expect(moveOne(tallies, 1_000_000, 0, WINDOW, 10 * WINDOW, 1_000_000)).toBe(tallies);
  expect(moveOne([], 1_000_000, 5_000, WINDOW, 10 * WINDOW, 1_005_000)).toEqual([]);
});

test("tallies older than they are kept are dropped when the next request is counted", () => {
  const tallies = countOne(aTally([1_000_000]), 2_000_000, WINDOW, WINDOW, 2_000_000);
  expect(tallies).toHaveLength(1);
  expect(countWithin(tallies, WINDOW, 2_000_000)).toBe(1);
});
