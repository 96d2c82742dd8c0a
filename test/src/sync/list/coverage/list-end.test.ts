// What proves that no row follows a page: a count, an empty or a short page, and what is wrong with each of them.
import { describe, expect, test } from "vitest";
import { addRead, emptyCoverage } from "../../../../../src/sync/list/coverage/coverage.ts";
import {
  confirmsCount,
  countOf,
  emptyFromAfter,
  isAtCount,
  isBehindCount,
  isBeyondEnd,
  isEmptyAgain,
  lapAfter,
  noLap,
  provesEnd,
  repeatsPages,
  totalAfter,
} from "../../../../../src/sync/list/coverage/list-end.ts";
import { startOf } from "../../../../../src/sync/list/coverage/page-geometry.ts";
import type { PageRead } from "../../../../../src/sync/list/coverage/read-types.ts";
import { aRead, descending } from "../ways/readings.ts";

describe("whether a page proves the end, where the service granted pages of so many rows", () => {
  test.each<[string, Partial<PageRead>, number, boolean]>([
    ["the count is reached", { rows: 100, total: 100 }, 100, true],
    ["a row less", { rows: 99, total: 100 }, 100, false],
    ["a later page reaches it", { page: 2, perPage: 10, rows: 3, total: 13 }, 0, true],
    ["an empty page behind it, whatever it says", { page: 2, rows: 0, total: 100, more: true }, 100, true],
    ["a full page goes beyond its own count", { rows: 100, total: 60 }, 100, false],
    ["a page that is not full does", { rows: 99, total: 60 }, 100, true],
    ["a full page ends at a round count", { page: 10, rows: 100, total: 1_000 }, 100, false],
    ["a full page stays below one", { page: 9, rows: 100, total: 1_000 }, 100, false],
    ["a full page ends at another count", { page: 11, rows: 100, total: 1_100 }, 100, true],
    ["a page that is not full ends at one", { page: 10, rows: 99, total: 999 }, 100, true],
    ["without a count: an empty page", { rows: 0 }, 0, true],
    ["a page that may be all that is granted", { rows: 20 }, 0, false],
    ["one as large as was granted", { rows: 20 }, 20, false],
    ["one shorter than was granted", { rows: 20 }, 21, true],
    ["that says that more follow", { rows: 20, more: true }, 21, false],
    ["one as large as was asked for", { perPage: 10, rows: 10 }, 100, false],
    ["one shorter than was asked for", { perPage: 10, rows: 9 }, 100, true],
  ])("%s", (_, read, granted, proves) => {
    expect(provesEnd(aRead(read), granted)).toBe(proves);
  });
});

describe("what a totalCount counts", () => {
  const at = (end: number, uncounted = 0) => ({ end, uncounted });
  test.each<[string, number | null, number, ReturnType<typeof at>, number | null]>([
    ["none", null, 100, at(100), null],
    ["zero beside rows: nothing", 0, 5, at(100), null],
    ["zero rows", 0, 0, at(100), 0],
    ["10,000 may have been cut off", 10_000, 100, at(100), null],
    ["10,001 was not", 10_001, 100, at(100), 10_001],
    ["a round number of rows", 1_000, 100, at(1_000), 1_000],
    ["a round number that a page goes beyond", 1_000, 100, at(1_100), null],
    ["an empty page says nothing against it", 1_000, 0, at(2_000), 1_000],
    ["a mirror of as many rows fits it", 1_000, 100, at(100, 1_000), 1_000],
    ["one row more does not", 1_000, 100, at(100, 1_001), null],
    ["another number counts", 999, 100, at(1_100, 1_200), 999],
  ])("%s", (_, total, rows, soFar, counted) => {
    expect(countOf(total, rows, soFar)).toBe(counted);
  });

  test("without more knowledge, a page's rows are all that is held against it", () => {
    expect([countOf(1_000, 1_000), countOf(1_000, 1_001)]).toEqual([1_000, null]);
  });
});

test.each([
  ["it reaches a round count and is full", { page: 10, rows: 100, total: 1_000 }, true],
  ["it goes beyond its count and is full", { rows: 100, total: 60 }, true],
  ["it reaches a count that is not round", { page: 11, rows: 100, total: 1_100 }, false],
  ["it stays below the count", { page: 9, rows: 100, total: 1_000 }, false],
  ["it is empty", { page: 11, rows: 0, total: 1_000 }, false],
  ["nothing is counted", { page: 10, rows: 100 }, false],
] as const)("whether a page leaves the end open: %s", (_, read, open) => {
  const page = aRead({ ids: descending(1_000, read.rows), ...read });
  const before = { ...emptyCoverage(100, false), end: startOf(page), total: page.total, joinedTotal: page.total };
  expect(addRead(before, page, "identity").openEnd).toBe(open);
});

test.each([
  ["without a count, behind the rows that are read", { end: 1_000, total: null, openEnd: false }, 11, true],
  ["not over them", { end: 1_001, total: null, openEnd: false }, 11, false],
  ["not at the head", { end: 0, total: null, openEnd: false }, 1, false],
  ["an open end at its count", { end: 1_000, total: 1_000, openEnd: true }, 11, true],
  ["an open end that goes beyond its count", { end: 1_000, total: 999, openEnd: true }, 11, true],
  ["rows that are counted and were not read", { end: 1_000, total: 1_001, openEnd: true }, 11, false],
  ["a closed end", { end: 1_000, total: 1_000, openEnd: false }, 11, false],
] as const)("whether a request asks beyond the end: %s", (_, soFar, page, beyond) => {
  expect(isBeyondEnd(soFar, { page, perPage: 100, role: "cover" })).toBe(beyond);
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

describe("the page behind a round count confirms it", () => {
  const soFar = { end: 1_000, total: 1_000, openEnd: true, tail: ["b", "a"] };
  test.each<[string, Partial<PageRead>, Partial<typeof soFar>, boolean]>([
    ["if it is empty", { total: 1_000 }, {}, true],
    ["also without a count", { rows: 0 }, {}, true],
    ["if it is refused", { refused: true }, {}, true],
    ["if it is the last page again", { total: 1_000, rows: 3, ids: ["x", "b", "a"] }, {}, true],
    ["not with another last row", { total: 1_000, rows: 2, ids: ["b", "z"] }, {}, false],
    ["not with rows that have no id", { rows: 2, ids: [] }, {}, false],
    ["nor if none was known before", { rows: 2, ids: [] }, { tail: [] }, false],
    ["not if it counts otherwise", { total: 999 }, {}, false],
    ["not if it is the page before", { page: 10, rows: 0 }, {}, false],
    ["not behind a closed end", { total: 1_000 }, { openEnd: false }, false],
  ])("%s", (_, read, known, confirms) => {
    expect(confirmsCount({ ...soFar, ...known }, aRead({ page: 11, ...read }))).toBe(confirms);
  });
});

test.each([
  ["a page without a count keeps the last one", 1_000, { page: 5, rows: 100 }, 1_000],
  ["rows behind a round count show that it counts no further", 1_000, { page: 11, rows: 5 }, null],
  ["rows up to a round count do not", 1_000, { page: 10, rows: 100 }, 1_000],
  ["nor does an empty page behind it", 1_000, { page: 12, rows: 0 }, 1_000],
  ["nor do rows behind a count that is not round", 999, { page: 11, rows: 5 }, 999],
  ["a list without a count stays without one", null, { page: 11, rows: 5 }, null],
] as const)("the count after a page that names none: %s", (_, total, read, after) => {
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

test("three pages that come again show a list that goes round, whatever their sizes; pages that come once do not", () => {
  const readsUntilRound = (idsOf: (page: number, perPage: number) => readonly string[]) => {
    let lap = noLap;
    for (let page = 1; page <= 500; page += 1) {
      const perPage = 10 - (page % 3);
      const ids = idsOf(page, perPage);
      lap = lapAfter(lap, aRead({ page, perPage, ids, rows: ids.length }));
      if (repeatsPages(lap)) return page;
    }
    return null;
  };
  expect(readsUntilRound((_, perPage) => descending(1_000, perPage))).toBe(8);
  expect(readsUntilRound((page, perPage) => descending(1_000 - (page % 5) * perPage, perPage))).toBeLessThan(60);
  expect(readsUntilRound((page, perPage) => descending(9_000 - page * perPage, perPage))).toBeNull();
  // A list that grows at its head by half a page for each page.
  expect(readsUntilRound((page, perPage) => descending(9_000 - page * 5, perPage))).toBeNull();
  // One row that moves along with the reader.
  expect(readsUntilRound((page, perPage) => ["moves", ...descending(9_000 - page * perPage, perPage - 1)])).toBeNull();
});

test("rows come again on a page behind the marked one that ends with one of its rows, or begins alike and shares half", () => {
  const marked = lapAfter(noLap, aRead({ perPage: 4, ids: ["8", "7", "6", "5"], rows: 4 }));
  expect(marked).toEqual({ mark: ["8", "7", "6", "5"], behind: 4, reads: 1, again: 0 });
  // The third page is never the one to be marked.
  const second = { ...marked, reads: 2 };
  const againOn = (ids: readonly string[], more: Partial<PageRead> = {}) =>
    lapAfter(second, aRead({ page: 2, perPage: 4, ids, rows: ids.length, ...more })).again;
  expect(againOn(["8", "7", "6", "5"])).toBe(4);
  expect(againOn(["9", "5"])).toBe(1);
  expect(againOn(["8", "7", "2", "1"])).toBe(2);
  expect(againOn(["8", "3", "2", "1"])).toBe(0);
  expect(againOn(["8", "3"])).toBe(1);
  expect(againOn(["9", "7", "6", "1"])).toBe(0);
  expect(againOn(["8", "7", "6", "5"], { page: 1 })).toBe(0);
  expect(lapAfter(second, aRead({ page: 2, perPage: 4, role: "head", ids: ["8"], rows: 1 }))).toBe(second);
  expect(lapAfter(second, aRead({ page: 2, perPage: 4 }))).toBe(second);
  expect(lapAfter(noLap, aRead({ ids: descending(900, 300), rows: 300 })).mark).toEqual(descending(900, 200));
});
