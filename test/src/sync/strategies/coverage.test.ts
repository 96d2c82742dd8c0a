// Coverage: pages that come back in any order are joined by proof, and nothing is asked for twice.
import { expect, test } from "vitest";
import type { PageRead, ReadRequest } from "../../../../src/sync/strategies/contract.ts";
import { addRead, type Coverage, emptyCoverage, resumedCoverage } from "../../../../src/sync/strategies/coverage.ts";
import { nextReads } from "../../../../src/sync/strategies/next-reads.ts";

const LENGTH = 45;

/** The page of a list of growing ids, newest first, that stands still. */
const answer = (request: ReadRequest): PageRead => {
  const start = (request.page - 1) * request.perPage;
  const rows = Math.max(0, Math.min(request.perPage, LENGTH - start));
  const ids = Array.from({ length: rows }, (_, row) => String(1000 - start - row));
  return { ...request, ids, rows, values: [], total: LENGTH };
};

const firstPages = (pages: number): Coverage => {
  let coverage = emptyCoverage(5, false);
  for (let page = 1; page <= pages; page++) {
    coverage = addRead(coverage, answer({ page, perPage: 5, role: "cover" }), "descending");
  }
  return coverage;
};

test("after a resume the page that only touches the boundary waits for the one that overlaps it", () => {
  const resumed = resumedCoverage(firstPages(4));
  const reads = nextReads(resumed, [], 3);
  const [across, ...ahead] = reads;
  if (across === undefined) throw new TypeError("nothing is read across the boundary");
  expect((across.page - 1) * across.perPage).toBeLessThan(resumed.end);
  let coverage = ahead.reduce((before, read) => addRead(before, answer(read), "descending"), resumed);
  // The overlapping page is still on its way: nothing else may be asked for at the boundary.
  const more = nextReads(coverage, [across], 8);
  expect(more.filter((read) => (read.page - 1) * read.perPage < resumed.end)).toEqual([]);
  coverage = addRead(coverage, answer(across), "descending");
  expect(coverage.end).toBeGreaterThanOrEqual(Math.max(...reads.map(({ page, perPage }) => page * perPage)));
  expect(coverage.repairs).toBe(0);
});

test("a page that touches the boundary and was read before it does not keep the boundary from being read", () => {
  const resumed = { ...resumedCoverage(firstPages(4)), waiting: [answer({ page: 5, perPage: 5, role: "cover" })] };
  const [across] = nextReads(resumed, [], 1);
  expect(across).toBeDefined();
  expect(((across?.page ?? 9) - 1) * (across?.perPage ?? 5)).toBeLessThan(resumed.end);
});

test("rows added above while pages are on the wire cost a few pages, not the head of the list again and again", () => {
  const added = 39;
  const size = 20;
  // Ids without an order, so that only shared rows join pages.
  const old = Array.from({ length: 250 }, (_, row) => `c${row}`);
  const pageOf = (request: ReadRequest, above: number): PageRead => {
    const list = [...Array.from({ length: above }, (_, row) => `n${above - row}`), ...old];
    const start = (request.page - 1) * request.perPage;
    const ids = list.slice(start, start + request.perPage);
    return { ...request, ids, rows: ids.length, values: [], total: list.length };
  };
  let above = 2;
  let coverage = addRead(
    emptyCoverage(size, false),
    pageOf({ page: 1, perPage: size, role: "cover" }, above),
    "identity",
  );
  let requests = 1;
  while (!coverage.complete) {
    const reads = nextReads(coverage, [], 12);
    requests += reads.length;
    expect(requests).toBeLessThan(80);
    for (const read of reads) {
      above = Math.min(added, above + 1);
      coverage = addRead(coverage, pageOf(read, above), "identity");
    }
    // Other lists are read meanwhile.
    above = Math.min(added, above + 12);
  }
  expect(coverage).toMatchObject({ proven: true, end: old.length + added });
});
