// Which pages of a list are requested next.
import { expect, test } from "vitest";
import { emptyCoverage } from "../../../../../src/sync/list/coverage/coverage.ts";
import { nextReads } from "../../../../../src/sync/list/coverage/next-reads.ts";
import type { ReadRequest } from "../../../../../src/sync/list/coverage/read-types.ts";
import { numbered, twenty } from "./covered.ts";

const cover = (number: number, perPage = 10): ReadRequest => ({ page: number, perPage, role: "cover" });

test("the first page alone, then as many as there is room for, never one twice", () => {
  const empty = emptyCoverage(10, false);
  expect(nextReads(empty, [], 5)).toEqual([cover(1)]);
  expect(nextReads(empty, [cover(1)], 5)).toEqual([]);
  expect(nextReads({ ...empty, waiting: [numbered(2, 990)] }, [], 5)).toEqual([]);
  expect(nextReads(twenty(), [], 5)).toEqual([cover(3), cover(4)]);
  expect(nextReads(twenty(), [], 1)).toEqual([cover(3)]);
  expect(nextReads(twenty(), [], 0)).toEqual([]);
  expect(nextReads(twenty(), [cover(3)], 5)).toEqual([cover(4)]);
  expect(nextReads({ ...twenty(), waiting: [numbered(3, 980)] }, [], 5)).toEqual([cover(4)]);
  expect(nextReads({ ...twenty(), complete: true }, [], 5)).toEqual([]);
  expect(nextReads(twenty(), [cover(3), cover(4)], 5)).toEqual([]);
});

test("overlapping pages share a row; without a count they go one by one; after a resume the first one overlaps", () => {
  expect(nextReads(twenty(true), [], 5)).toEqual([cover(3, 9), cover(4, 8), cover(4)]);
  expect(nextReads({ ...twenty(), total: null }, [], 5)).toEqual([cover(3, 9)]);
  expect(nextReads({ ...twenty(), total: null }, [cover(3, 9)], 5)).toEqual([]);
  expect(nextReads({ ...twenty(), fresh: false }, [], 5)[0]).toEqual(cover(3, 9));
  expect(nextReads({ ...twenty(), fresh: false }, [cover(3)], 5)[0]).toEqual(cover(3, 9));
  expect(nextReads({ ...twenty(true), size: 1 }, [], 1)).toEqual([cover(21, 1)]);
});

test("a list that moves, of growing ids: one page after the other, sharing as many rows as the count fell lately", () => {
  const moved = { ...twenty(), moved: true };
  expect(nextReads(moved, [], 5)).toEqual([{ ...cover(3), follows: true }]);
  expect(nextReads(moved, [cover(9)], 5)).toEqual([]);
  expect(nextReads({ ...moved, fall: 2 }, [], 5)).toEqual([{ ...cover(3, 8), follows: true }]);
  // A page that waits for another is not asked for again.
  expect(nextReads({ ...moved, waiting: [numbered(4, 970)] }, [], 5)).toEqual([{ ...cover(3), follows: true }]);
});

test("a bridge before anything else, and one at a time", () => {
  const broken = { ...twenty(), bridgeAt: 19 };
  expect(nextReads(broken, [], 5)).toEqual([{ page: 3, perPage: 9, role: "bridge" }]);
  expect(nextReads(broken, [cover(3)], 5)).toHaveLength(1);
  expect(nextReads(broken, [{ page: 3, perPage: 9, role: "bridge" }], 5)).toEqual([]);
});

test("a list that has become as short as what is covered is looked at once more at its end", () => {
  expect(nextReads({ ...twenty(), total: 20 }, [], 5)).toEqual([{ page: 3, perPage: 9, role: "bridge" }]);
  expect(nextReads({ ...twenty(), total: 12 }, [], 5)).toEqual([{ page: 2, perPage: 10, role: "bridge" }]);
  expect(nextReads({ ...twenty(), total: 0 }, [], 5)).toEqual([{ page: 1, perPage: 10, role: "bridge" }]);
  expect(nextReads({ ...twenty(), total: 20 }, [cover(3)], 5)).toEqual([]);
});

const atCount = { ...twenty(), total: 20, openEnd: true };
test("behind a count that a full page reached, one page is asked for, with no row shared, and nothing beside it", () => {
  expect(nextReads(atCount, [], 5)).toEqual([cover(3)]);
  expect(nextReads({ ...atCount, end: 18, total: 18 }, [], 5)).toEqual([cover(3, 9)]);
  expect(nextReads(atCount, [cover(3)], 5)).toEqual([]);
  expect(nextReads(atCount, [cover(9)], 5)).toEqual([]);
  // After a resume, its last rows must be proven first.
  expect(nextReads({ ...atCount, fresh: false }, [], 5)).toEqual([{ page: 3, perPage: 9, role: "bridge" }]);
});

test("where rows lie behind the count, pages go on one by one, each sharing a row", () => {
  const behind = { ...atCount, total: 15 };
  expect(nextReads(behind, [], 5)).toEqual([cover(3, 9)]);
  expect(nextReads(behind, [cover(9)], 5)).toEqual([]);
  expect(nextReads({ ...behind, openEnd: false }, [], 5)).toEqual([{ page: 3, perPage: 7, role: "bridge" }]);
});

test("pages behind an empty one are requested one by one, those before it as ever", () => {
  const long = { ...twenty(), total: 100 };
  expect(nextReads({ ...long, emptyFrom: 40 }, [], 9)).toEqual([cover(3), cover(4)]);
  expect(nextReads({ ...long, emptyFrom: 20 }, [], 9)).toEqual([cover(3)]);
  expect(nextReads({ ...long, emptyFrom: 10 }, [], 9)).toEqual([cover(3)]);
  expect(nextReads({ ...long, emptyFrom: 41 }, [], 9)).toEqual([cover(3), cover(4), cover(5)]);
});
