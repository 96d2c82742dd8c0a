// What proves that no row follows a page, with a count and without one.
import { expect, test } from "vitest";
import type { PageRead } from "../../../../../src/sync/list/coverage/contract.ts";
import {
  asksBeyond,
  confirmsCount,
  countOf,
  goesRound,
  lapAfter,
  noLap,
  provesEnd,
} from "../../../../../src/sync/list/coverage/list-end.ts";
import { aRead, descending } from "../ways/readings.ts";

test("a count decides, whatever the page holds", () => {
  expect(provesEnd(aRead({ rows: 100, total: 100 }), 100)).toBe(true);
  expect(provesEnd(aRead({ rows: 99, total: 100 }), 100)).toBe(false);
  expect(provesEnd(aRead({ page: 2, rows: 0, total: 100, more: true }), 100)).toBe(true);
});

test("a full page that goes beyond the count which it names proves no end, and neither does one that ends at a round count", () => {
  expect(provesEnd(aRead({ rows: 100, total: 60 }), 100)).toBe(false);
  expect(provesEnd(aRead({ rows: 99, total: 60 }), 100)).toBe(true);
  expect(provesEnd(aRead({ page: 10, rows: 100, total: 1_000 }), 100)).toBe(false);
  expect(provesEnd(aRead({ page: 11, rows: 100, total: 1_100 }), 100)).toBe(true);
});

test("the page behind a round count confirms it if it is empty, refused, or the last page again", () => {
  const soFar = { end: 1_000, total: 1_000, openEnd: true, tail: ["b", "a"] };
  const behind = (read: Partial<PageRead>) => confirmsCount(soFar, aRead({ page: 11, ...read }));
  expect(behind({ total: 1_000 })).toBe(true);
  expect(behind({ refused: true })).toBe(true);
  expect(behind({ total: 1_000, rows: 2, ids: ["b", "a"] })).toBe(true);
  expect(behind({ total: 1_000, rows: 2, ids: ["a", "z"] })).toBe(false);
  expect(behind({ total: 999 })).toBe(false);
  expect(confirmsCount({ ...soFar, openEnd: false }, aRead({ page: 11, total: 1_000 }))).toBe(false);
});

test("without a count the end is an empty page, or one shorter than a page that the service granted", () => {
  expect(provesEnd(aRead({ rows: 0 }), 0)).toBe(true);
  expect(provesEnd(aRead({ rows: 20 }), 0)).toBe(false);
  expect(provesEnd(aRead({ rows: 20 }), 20)).toBe(false);
  expect(provesEnd(aRead({ rows: 20 }), 21)).toBe(true);
  expect(provesEnd(aRead({ rows: 100 }), 500)).toBe(false);
  expect(provesEnd(aRead({ rows: 20, more: true }), 100)).toBe(false);
});

test("a count of zero beside rows counts nothing, and one of 10,000 may have been cut off", () => {
  const at = { end: 100, uncounted: 0 };
  expect(countOf(0, 5, at)).toBeNull();
  expect(countOf(0, 0, at)).toBe(0);
  expect(countOf(10_000, 100, at)).toBeNull();
  expect(countOf(10_001, 100, at)).toBe(10_001);
  expect(countOf(null, 100, at)).toBeNull();
});

test("a round count counts until the page, or the mirror of a list without a count, goes beyond it", () => {
  expect(countOf(1_000, 100, { end: 1_000, uncounted: 0 })).toBe(1_000);
  expect(countOf(1_000, 100, { end: 1_100, uncounted: 0 })).toBeNull();
  expect(countOf(1_000, 100, { end: 100, uncounted: 1_200 })).toBeNull();
  expect(countOf(999, 100, { end: 1_100, uncounted: 1_200 })).toBe(999);
});

test("a request asks beyond the end only of a list without a count, behind the rows that are read", () => {
  const next = { page: 2, perPage: 100, role: "cover" } as const;
  expect(asksBeyond({ end: 100, total: null, openEnd: false }, next)).toBe(true);
  expect(asksBeyond({ end: 101, total: null, openEnd: false }, next)).toBe(false);
  expect(asksBeyond({ end: 100, total: 100, openEnd: false }, next)).toBe(false);
  expect(asksBeyond({ end: 0, total: null, openEnd: false }, { ...next, page: 1 })).toBe(false);
});

test("without a count, an empty page ends a list, and one shorter than a page that the service returned", () => {
  const short = (rows: number, more: Partial<PageRead> = {}) =>
    aRead({ ids: descending(50, rows), rows, perPage: 100, total: null, ...more });
  expect(provesEnd(short(12), 0)).toBe(false);
  expect(provesEnd(short(12), 12)).toBe(false);
  expect(provesEnd(short(12), 13)).toBe(true);
  expect(provesEnd(short(12, { more: true }), 13)).toBe(false);
  expect(provesEnd(short(10, { perPage: 10 }), 100)).toBe(false);
  expect(provesEnd(short(9, { perPage: 10 }), 100)).toBe(true);
  expect(provesEnd(short(0), 0)).toBe(true);
  expect(provesEnd(short(12, { total: 12 }), 0)).toBe(true);
  expect(provesEnd(short(12, { total: 13 }), 100)).toBe(false);
  expect(provesEnd(short(3, { page: 2, perPage: 10, total: 13 }), 0)).toBe(true);
});

test("only a page after the last row of a list without a count is refused because it is empty", () => {
  const asked = { page: 3, perPage: 2, role: "cover" } as const;
  expect(asksBeyond({ end: 4, total: null, openEnd: false }, asked)).toBe(true);
  expect(asksBeyond({ end: 5, total: null, openEnd: false }, asked)).toBe(false);
  expect(asksBeyond({ end: 4, total: 4, openEnd: false }, asked)).toBe(false);
  expect(asksBeyond({ end: 0, total: null, openEnd: false }, { ...asked, page: 1 })).toBe(false);
});

test("three pages that come again show a list that goes round, whatever their sizes; pages that come once do not", () => {
  const readsUntilRound = (idsOf: (page: number, perPage: number) => readonly string[]) => {
    let lap = noLap;
    for (let page = 1; page <= 500; page += 1) {
      const perPage = 10 - (page % 3);
      const ids = idsOf(page, perPage);
      lap = lapAfter(lap, aRead({ page, perPage, ids, rows: ids.length }));
      if (goesRound(lap)) return page;
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
