import { expect, test } from "vitest";
import { acceptedGap } from "../../../../src/sync/rows/accepted-gap.ts";

test("the gap is what the service counts beyond the rows, or fewer, and unknown until a complete walk has ended", () => {
  expect(acceptedGap({ totalCount: 10, rowsAtWalk: 7 })).toBe(3);
  expect(acceptedGap({ totalCount: 7, rowsAtWalk: 10 })).toBe(-3);
  expect(acceptedGap({ totalCount: 0, rowsAtWalk: 0 })).toBe(0);
  expect(
    [{ totalCount: null, rowsAtWalk: 7 }, { totalCount: 7, rowsAtWalk: null }, undefined].map(acceptedGap),
  ).toEqual([null, null, null]);
});
