// Where a page begins and ends, and which page reaches furthest from a row.
import { expect, test } from "vitest";
import {
  cannotShare,
  endOf,
  overlappingPages,
  spanAt,
  spanFrom,
  startOf,
} from "../../../../../src/sync/list/coverage/page-geometry.ts";

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

test("the page that starts at a row is the largest that does", () => {
  expect(spanFrom(20, 10)).toEqual({ page: 3, perPage: 10 });
  expect(spanFrom(18, 10)).toEqual({ page: 3, perPage: 9 });
  expect(spanFrom(21, 10)).toEqual({ page: 4, perPage: 7 });
  expect(spanFrom(23, 10)).toEqual({ page: 24, perPage: 1 });
  expect(spanFrom(0, 10)).toEqual({ page: 1, perPage: 10 });
});

test.each([
  [1, 10, 1],
  [10, 10, 1],
  [11, 10, 2],
  [19, 10, 3],
  [20, 10, 3],
  // Pages of one row share none.
  [3, 1, 3],
])("%i rows in overlapping pages of %i are %i pages", (total, size, pages) => {
  expect(overlappingPages(total, size)).toBe(pages);
});

test("a page of one row shares none, but nothing lies before the first row", () => {
  expect([0, 1, 2].map((row) => cannotShare(row, 1))).toEqual([false, true, true]);
  expect(cannotShare(0, 100, true)).toBe(false);
});

test("a list of more rows than anybody reads is not counted page by page", () => {
  expect(overlappingPages(1e15, 100)).toBe(1e13);
});
