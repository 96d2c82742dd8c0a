// Where a page begins and ends, and which page reaches furthest from a row.
import { expect, test } from "vitest";
import {
  cannotShare,
  endOf,
  overlappingPages,
  spanAt,
  spanFrom,
  startOf,
} from "../../../../src/sync/strategies/page-geometry.ts";

test("a page starts where the one before ends", () => {
  expect([startOf({ page: 1, perPage: 7 }), endOf({ page: 1, perPage: 7 })]).toEqual([0, 7]);
  expect([startOf({ page: 3, perPage: 7 }), endOf({ page: 3, perPage: 7 })]).toEqual([14, 21]);
});

test.each([
  [-1, 10, { page: 1, perPage: 10 }],
  [0, 10, { page: 1, perPage: 10 }],
  [10, 10, { page: 2, perPage: 10 }],
  [9, 10, { page: 2, perPage: 9 }],
  [19, 10, { page: 3, perPage: 9 }],
  [11, 10, { page: 2, perPage: 10 }],
  [29, 10, { page: 4, perPage: 9 }],
  [1, 2, { page: 1, perPage: 2 }],
  [3, 1, { page: 4, perPage: 1 }],
  [59, 100, { page: 2, perPage: 59 }],
  [49, 100, { page: 1, perPage: 100 }],
  [99, 100, { page: 2, perPage: 99 }],
])("the page at row %i of lists of pages of %i", (at, size, span) => {
  expect(spanAt(at, size)).toEqual(span);
});

test("pages that share rows are counted for every size, also where small pages cannot share", () => {
  for (let size = 1; size <= 40; size++) {
    for (let total = 0; total <= 200; total++) {
      const pages = overlappingPages(total, size);
      expect(pages).toBeGreaterThanOrEqual(Math.max(1, Math.ceil(total / size)));
      expect(pages).toBeLessThanOrEqual(Math.max(1, 2 * Math.ceil(total / Math.max(1, size - 1)) + 1));
    }
  }
});

test("the page at a row starts there or before it, reaches beyond it, and no other page of that kind reaches further", () => {
  for (let size = 1; size <= 30; size++) {
    for (let at = 1; at <= 120; at++) {
      const span = spanAt(at, size);
      expect(startOf(span)).toBeLessThanOrEqual(at);
      const reaches = Array.from({ length: size }, (_, index) => size - index)
        .filter((perPage) => perPage >= Math.ceil(size / 2))
        .map((perPage) => perPage - (at % perPage));
      expect(endOf(span) - at).toBe(Math.max(...reaches));
      expect(span.perPage).toBeGreaterThanOrEqual(Math.ceil(size / 2));
      expect(span.perPage).toBeLessThanOrEqual(size);
    }
  }
});

test("pages of one size only: the page that holds a row, and none shares a row with its neighbour", () => {
  expect([0, 99, 100, 199, 250].map((row) => spanAt(row, 100, true).page)).toEqual([1, 1, 2, 2, 3]);
  expect(spanFrom(250, 100, true)).toEqual({ page: 3, perPage: 100 });
  expect([100, 150, 200].map((row) => cannotShare(row, 100, true))).toEqual([true, false, true]);
  expect([100, 150, 200].map((row) => cannotShare(row, 100))).toEqual([false, false, false]);
});
