import { expect, test } from "vitest";
import { CUTS, DAY_MS, isBefore, middleDay, rowsBefore } from "../../../../../src/sync/list/parts/days.ts";

const days = [0, 1, 2, 5].map((at) => ({ day: at * DAY_MS, rows: 10, atMidnight: 4 }));

test("each meaning of the filter cuts a day at another place", () => {
  expect(CUTS.map((cut) => rowsBefore(days, cut, DAY_MS))).toEqual([10, 14, 20]);
  expect(CUTS.map((cut) => rowsBefore(days, cut, 3 * DAY_MS))).toEqual([30, 30, 30]);
  expect(
    CUTS.map((cut) => [DAY_MS - 1, DAY_MS, DAY_MS + 1, 2 * DAY_MS].map((time) => isBefore(cut, DAY_MS, time))),
  ).toEqual([
    [true, false, false, false],
    [true, true, false, false],
    [true, true, true, false],
  ]);
});

test("the middle day leaves rows on both sides, and is null where no day does", () => {
  expect(CUTS.map((cut) => middleDay(days, cut, 0, 40))).toEqual([2 * DAY_MS, 2 * DAY_MS, DAY_MS]);
  expect(middleDay(days, "exclusive", 10, 20)).toBeNull();
});
