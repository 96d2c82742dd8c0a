// How many pages a stream is expected to have.
import { expect, test } from "vitest";
import { pagesTotal } from "../../../../../src/sync/run/state/page-events.ts";
import { aList } from "../a-list.ts";

const stats = { planned: 3, pages: 1 };

test("a list per company is expected to have the planned pages, or as many as came", () => {
  const filings = aList({ stream: "filings", scope: "7", mode: "known" });
  expect(pagesTotal(filings, stats)).toBe(3);
  expect(pagesTotal(filings, { planned: 3, pages: 5 })).toBe(5);
});

test("a list of the organization has the pages of its length, once the service has said it", () => {
  const walk = aList();
  expect(pagesTotal(walk, stats)).toBeNull();
  const ids = Array.from({ length: 10 }, (_, nth) => String(99 - nth));
  const read = { page: 1, perPage: 10, role: "cover", ids, rows: 10, values: ids.map(() => null), total: 41 } as const;
  walk.tell({ kind: "page", read, receivedAt: 0 });
  expect(pagesTotal(walk, stats)).toBe(5);
  expect(pagesTotal(walk, { planned: 3, pages: 8 })).toBe(8);
});

test("an incremental read ends nobody knows where", () => {
  expect(pagesTotal(aList({ mode: "watermark" }), stats)).toBeNull();
});
