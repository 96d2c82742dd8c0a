// A response of a list as the strategies see it: ids, dates, count, and whether more rows follow.
import { describe, expect, test } from "vitest";
import type { PageMeta } from "../../../../src/api/outcome.ts";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { forgottenId, forgottenRecord } from "../../../../src/core/forgotten.ts";
import type { JsonValue } from "../../../../src/core/json.ts";
import { pageReadOf, refusedPage } from "../../../../src/sync/list/page-read.ts";

const request = { page: 2, perPage: 3, role: "cover" } as const;
const META: PageMeta = { page: null, perPage: null, totalCount: null, totalPages: null };
const accounts = { stream: streamSpec("accounts"), before: undefined, rows: 0 };
const read = (data: JsonValue, meta: Partial<PageMeta> = {}, granted?: number) =>
  pageReadOf(accounts, request, data, { ...META, ...meta }, granted);
const T0 = Date.UTC(2026, 0, 2);
const dated = { id: 1, updatedAt: "2026-01-02T00:00:00Z" };

describe("records", () => {
  test("give their ids as text, and the dates of their changes", () => {
    expect(read([dated, { id: "a" }])).toEqual({
      ...request,
      ids: ["1", "a"],
      rows: 2,
      values: [T0, null],
      total: null,
    });
  });

  test("without an id count as rows only", () => {
    expect(read([{ name: "x" }, null, dated])).toMatchObject({ ids: ["1"], rows: 3 });
  });

  test("of erased people keep their place, without a date that could show an order", () => {
    expect(read([forgottenRecord("h"), dated])).toMatchObject({ ids: [forgottenId("h"), "1"], rows: 2, values: [T0] });
  });

  test("of a stream without a change date have no dates", () => {
    const { watermark: _, ...undated } = streamSpec("accounts");
    expect(pageReadOf({ ...accounts, stream: undated }, request, [dated], META).values).toEqual([]);
  });

  test("that are no list are none", () => {
    expect(read({ id: 1 })).toMatchObject({ ids: [], rows: 0 });
  });
});

describe("more rows follow", () => {
  const three = [{ id: 1 }, { id: 2 }, { id: 3 }];

  test.each<[string, JsonValue, Partial<PageMeta>, true | undefined]>([
    ["if the service counts further pages", three, { totalPages: 3 }, true],
    ["not if this is the last page", three, { totalPages: 2 }, undefined],
    ["not if the count is for another page", three, { page: 1, totalPages: 3 }, undefined],
    ["if a smaller page than requested is full", [{ id: 1 }, { id: 2 }], { perPage: 2 }, true],
    ["not if it is not full", [{ id: 1 }], { perPage: 2 }, undefined],
    ["not if it is as large as requested", three, { perPage: 3 }, undefined],
    ["not behind an empty page", [], { totalPages: 9 }, undefined],
  ])("%s", (_, data, meta, more) => {
    expect(read(data, meta).more).toBe(more);
  });
});

test("a count that the mirror shows to be cut off counts nothing", () => {
  const states = { totalCount: null } as const;
  const before = { ...accounts, rows: 1200, before: { ...aState, ...states } };
  expect(pageReadOf(before, request, [], { ...META, totalCount: 1000 }).total).toBeNull();
  expect(pageReadOf({ ...before, rows: 900 }, request, [], { ...META, totalCount: 1000 }).total).toBe(1000);
  expect(pageReadOf({ ...before, before: undefined }, request, [], { ...META, totalCount: 1000 }).total).toBe(1000);
});

const aState = {
  stream: "accounts",
  scope: "",
  status: "idle",
  walkId: null,
  cursor: null,
  watermark: null,
  rowsAtWalk: null,
  checkedAt: null,
  walkedAt: null,
  unconfirmed: null,
  error: null,
  runId: "r",
} as const;

test("the largest page of the run goes along, if there was one", () => {
  expect(read([], {}, 20).granted).toBe(20);
  expect("granted" in read([])).toBe(false);
});

test("a refused page is an empty one that proves nothing", () => {
  expect(refusedPage(request)).toMatchObject({ ...request, ids: [], rows: 0, total: null, refused: true });
});
