// The page size that is remembered for a stream: only one that something proves (docs/decisions/paging.md).
import { expect, test } from "vitest";
import { startLog } from "../../../../../src/sync/list/ways/log.ts";
import { acceptRead } from "../../../../../src/sync/list/ways/progress.ts";
import { startKnown, startWalk } from "../../../../../src/sync/list/ways/walk.ts";
import { isOtherPage, pageSizeOf, provenPageSize } from "../../../../../src/sync/run/learn-form.ts";

const cover = (page: number, perPage: number) => ({ page, perPage, role: "cover" as const });
const start = () => startWalk({ size: 100, overlap: false, proof: "identity" });
const first = { request: cover(1, 100), rows: 3, total: 4, saysPerPage: 100, granted: 3 };
const afterFirst = () => acceptRead(start(), { ...cover(1, 100), ids: ["a", "b", "c"], rows: 3, values: [], total: 4 });

test("a short first page proves no size, unless the service names it", () => {
  expect(provenPageSize(start(), first)).toBeNull();
  expect(provenPageSize(start(), { ...first, saysPerPage: null })).toBeNull();
  expect(provenPageSize(start(), { ...first, saysPerPage: 3 })).toBe(3);
});

test("rows behind a short first page prove its size; an empty page there, or known rows, do not", () => {
  const second = { ...first, request: cover(2, 3), rows: 1, saysPerPage: 3 };
  expect(provenPageSize(afterFirst(), second)).toBe(3);
  expect(provenPageSize(afterFirst(), { ...second, rows: 0 })).toBeNull();
  expect(provenPageSize(afterFirst(), { ...second, request: cover(2, 2), rows: 1 })).toBeNull();
});

test("no size below that of another page of the run is proven", () => {
  expect(provenPageSize(start(), { ...first, saysPerPage: 3, granted: 60 })).toBe(60);
});

test("a smaller page that is cut although more rows follow is a page of another size", () => {
  const request = { page: 2, perPage: 99, role: "cover" } as const;
  const page = { request, rows: 20, total: 260, saysPerPage: 20, granted: 100 };
  expect(isOtherPage(page, 100)).toBe(true);
  expect(isOtherPage({ ...page, saysPerPage: null }, 100)).toBe(true);
  const others = [{ saysPerPage: 99 }, { rows: 99 }, { rows: 0 }, { total: 119 }, { total: null }, { granted: 20 }];
  for (const other of others) expect(isOtherPage({ ...page, ...other }, 100)).toBe(false);
  expect(isOtherPage({ ...page, request: { ...request, perPage: 100 } }, 100)).toBe(false);
  const last = { ...page, rows: 4, total: 124 };
  expect(isOtherPage(last, 100)).toBe(true);
  expect(isOtherPage({ ...last, total: 103 }, 100)).toBe(false);
});

test("a smaller page with more rows than asked is a page of another size, whatever it says", () => {
  const page = { request: { page: 2, perPage: 19, role: "cover" }, rows: 20, total: 65, granted: 20 } as const;
  for (const saysPerPage of [20, 19, null]) expect(isOtherPage({ ...page, saysPerPage }, 20)).toBe(true);
  expect(isOtherPage({ ...page, saysPerPage: 20, rows: 19 }, 20)).toBe(false);
});

test("the size that is asked for is the strategy's own, also that of a log", () => {
  expect(pageSizeOf(start())).toBe(100);
  expect(pageSizeOf(startKnown({ size: 30 }))).toBe(30);
  expect(pageSizeOf(startLog({ size: 20, first: true }))).toBe(20);
});

test("only a later page can be one of another size, and only the service's count shows that it is short", () => {
  const page = { request: cover(2, 19), rows: 20, total: 65, saysPerPage: 20, granted: 20 };
  expect(isOtherPage(page, 20)).toBe(true);
  expect(isOtherPage({ ...page, request: cover(1, 19) }, 20)).toBe(false);
  expect(isOtherPage({ ...page, rows: 10, total: null }, 20)).toBe(false);
});

test.each([
  ["a page with all that it asked for", { rows: 100, total: 400, saysPerPage: 100 }],
  ["a page of a list without a count", { total: null, saysPerPage: 3 }],
  ["a page that holds every counted row", { total: 3, saysPerPage: 3 }],
  ["an empty page", { rows: 0, total: 4, saysPerPage: 0 }],
])("%s proves no size", (_, more) => {
  expect(provenPageSize(start(), { ...first, ...more })).toBeNull();
});

test("rows behind the first page prove the larger of what is asked for and what was returned", () => {
  const second = { ...first, request: cover(2, 3), rows: 1, saysPerPage: 3 };
  expect(provenPageSize(afterFirst(), { ...second, granted: 2 })).toBe(3);
  expect(provenPageSize(afterFirst(), { ...second, granted: 50 })).toBe(50);
});
