// Each rule about the end of a list by itself: open ends, counts that stop early, pages that are empty though the count goes on.
import { expect, test } from "vitest";
import type { PageRead } from "../../../../../src/sync/list/coverage/contract.ts";
import {
  asksBeyond,
  confirmsCount,
  countOf,
  emptyFromAfter,
  isAtCount,
  isBehindCount,
  isEmptyAgain,
  leavesOpen,
  provesEnd,
  totalAfter,
} from "../../../../../src/sync/list/coverage/list-end.ts";
import { aRead } from "../ways/readings.ts";

test.each([
  ["an empty page says nothing against a round count", 1_000, 0, { end: 2_000, uncounted: 0 }, 1_000],
  ["as many rows as a round count fit it", 1_000, 100, { end: 100, uncounted: 1_000 }, 1_000],
  ["one row more does not", 1_000, 100, { end: 100, uncounted: 1_001 }, null],
] as const)("what a totalCount counts: %s", (_, total, rows, at, counted) => {
  expect(countOf(total, rows, at)).toBe(counted);
});

test("without more knowledge, a page's rows are all that is held against its round count", () => {
  expect(countOf(1_000, 1_000)).toBe(1_000);
  expect(countOf(1_000, 1_001)).toBeNull();
});

test("a full page that stays below a round count proves no end, and one that ends at another count does", () => {
  expect(provesEnd(aRead({ page: 9, rows: 100, total: 1_000 }), 100)).toBe(false);
  expect(provesEnd(aRead({ page: 10, rows: 99, total: 999 }), 100)).toBe(true);
});

test.each([
  ["it reaches a round count and is full", { page: 10, rows: 100, total: 1_000 }, true],
  ["it goes beyond its count and is full", { rows: 100, total: 60 }, true],
  ["it reaches a count that is not round", { page: 11, rows: 100, total: 1_100 }, false],
  ["it stays below the count", { page: 9, rows: 100, total: 1_000 }, false],
  ["it is empty", { page: 11, rows: 0, total: 1_000 }, false],
  ["nothing is counted", { page: 10, rows: 100 }, false],
] as const)("whether a page leaves the end open: %s", (_, read, open) => {
  expect(leavesOpen(aRead(read), 100)).toBe(open);
});

const behind = { page: 11, perPage: 100, role: "cover" } as const;
test.each([
  ["an open end at its count", { end: 1_000, total: 1_000, openEnd: true }, true],
  ["an open end that goes beyond its count", { end: 1_000, total: 999, openEnd: true }, true],
  ["rows that are counted and were not read", { end: 1_000, total: 1_001, openEnd: true }, false],
  ["a closed end", { end: 1_000, total: 1_000, openEnd: false }, false],
] as const)("a request asks beyond the end of a counted list: %s", (_, soFar, beyond) => {
  expect(asksBeyond(soFar, behind)).toBe(beyond);
});

test.each([
  [{ end: 1_000, total: 1_000, openEnd: true }, true, false],
  [{ end: 1_100, total: 1_000, openEnd: true }, false, true],
  [{ end: 900, total: 1_000, openEnd: true }, false, false],
  [{ end: 1_000, total: null, openEnd: true }, false, false],
  [{ end: 1_000, total: 1_000, openEnd: false }, false, false],
  [{ end: 1_100, total: 1_000, openEnd: false }, false, false],
] as const)("where %j stands to its count: at it %s, behind it %s", (soFar, at, isBehind) => {
  expect([isAtCount(soFar), isBehindCount(soFar)]).toEqual([at, isBehind]);
});

test("only a page behind the count confirms it, by its last row", () => {
  const soFar = { end: 1_000, total: 1_000, openEnd: true, tail: ["c", "a"] };
  const confirms = (read: Partial<PageRead>) => confirmsCount(soFar, aRead({ page: 11, ...read }));
  expect(confirms({ rows: 0 })).toBe(true);
  expect(confirms({ page: 10, rows: 0 })).toBe(false);
  expect(confirms({ rows: 3, ids: ["x", "y", "a"] })).toBe(true);
  expect(confirms({ rows: 2, ids: ["c", "z"] })).toBe(false);
  // Rows without a usable id say nothing.
  expect(confirms({ rows: 2, ids: [] })).toBe(false);
  expect(confirmsCount({ ...soFar, tail: [] }, aRead({ page: 11, rows: 2, ids: [] }))).toBe(false);
});

test.each([
  ["the page's own count wins", 1_000, { page: 11, rows: 5, total: 1_005 }, 1_005],
  ["a page without a count keeps the last one", 1_000, { page: 5, rows: 100 }, 1_000],
  ["rows behind a round count show that it counts no further", 1_000, { page: 11, rows: 5 }, null],
  ["rows up to a round count do not", 1_000, { page: 10, rows: 100 }, 1_000],
  ["nor does an empty page behind it", 1_000, { page: 12, rows: 0 }, 1_000],
  ["nor do rows behind a count that is not round", 999, { page: 11, rows: 5 }, 999],
  ["a list without a count stays without one", null, { page: 11, rows: 5 }, null],
  ["until a page names one", null, { page: 11, rows: 5, total: 7 }, 7],
] as const)("the count after a page: %s", (_, total, read, after) => {
  expect(totalAfter(total, aRead(read))).toBe(after);
});

const ended = { end: 90, moved: false, fresh: true, joinedTotal: 120 };
const bridge = { page: 2, perPage: 80, role: "bridge", rows: 0, total: 120 } as const;
test.each([
  ["the second empty page in a list that shows no change", ended, bridge, true],
  ["a count that ends where the rows do", { ...ended, end: 120 }, bridge, true],
  ["a count below the rows", { ...ended, end: 121 }, bridge, false],
  ["the first such page", ended, { ...bridge, role: "cover" }, false],
  ["a page with rows", ended, { ...bridge, rows: 1, ids: ["a"] }, false],
  ["a page that was refused", ended, { ...bridge, refused: true }, false],
  ["pages of another run", { ...ended, fresh: false }, bridge, false],
  ["a list that moved", { ...ended, moved: true }, bridge, false],
  ["another count", ended, { ...bridge, total: 121 }, false],
  ["no count", { ...ended, joinedTotal: null }, { ...bridge, total: null }, false],
] as const)("rows end before the count does: %s", (_, known, read, again) => {
  expect(isEmptyAgain(known, aRead(read))).toBe(again);
});

test.each([
  ["an empty page though the count goes on", null, { page: 3, total: 500 }, 200],
  ["an earlier one", 300, { page: 3, total: 500 }, 200],
  ["a later one", 100, { page: 3, total: 500 }, 100],
  ["an empty page at the count", null, { page: 3, total: 200 }, null],
  ["an empty page without a count", null, { page: 3 }, null],
  ["a page that was refused", null, { page: 3, total: 500, refused: true }, null],
  ["rows that follow by no more than a page", 200, { page: 3, rows: 100, total: 500 }, 200],
  ["rows that follow by more", 200, { page: 4, rows: 1, total: 500 }, null],
  ["rows before it", 200, { page: 1, rows: 100, total: 500 }, 200],
  ["rows, and none was empty", null, { page: 4, rows: 100, total: 500 }, null],
] as const)("where pages begin to be empty: %s", (_, before, read, after) => {
  expect(emptyFromAfter(before, aRead(read))).toBe(after);
});
