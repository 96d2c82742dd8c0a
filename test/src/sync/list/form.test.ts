// The form in which a list is asked for, a response as the strategies see it, and how long a list that ends before its count is
// not walked again.
import { describe, expect, test } from "vitest";
import type { PageMeta } from "../../../../src/api/outcome.ts";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { forgottenId, forgottenRecord } from "../../../../src/core/forgotten.ts";
import type { JsonValue } from "../../../../src/core/json.ts";
import { formAfterRefusal, initialForm, type ListForm, withFixedPages } from "../../../../src/sync/list/form.ts";
import { pageBeyondEnd, pageReadOf } from "../../../../src/sync/list/page-read.ts";
import { endsAtWindow, endsThereAgain } from "../../../../src/sync/list/search-window.ts";
import { idleState } from "../plan/planning-input.ts";

const full = { sort: true, include: true, content: false, names: false, filters: false };
const options = { largest: 1000, elsewhere: null };

/** Asks until a service that accepts `accepts` is satisfied; answers with the shape and the refusals it took. */
const negotiate = (accepts: (shape: ListForm) => boolean, excerpt = "", elsewhere: number | null = null) => {
  let shape: ListForm | null = initialForm(1000);
  for (let refusals = 0; shape !== null; refusals++) {
    if (accepts(shape)) return { shape, refusals };
    shape = formAfterRefusal(
      shape,
      { ...full, perPage: shape.perPage, sort: shape.sort, include: shape.include },
      excerpt,
      { largest: 1000, elsewhere },
    );
  }
  return null;
};

test("the page size is stepped down until the service grants it, at no credit", () => {
  expect(negotiate((shape) => shape.perPage <= 100)).toMatchObject({
    shape: { perPage: 100, sort: true, include: true },
    refusals: 8,
  });
  expect(negotiate((shape) => shape.perPage <= 20)).toMatchObject({ shape: { perPage: 20 } });
});

test.each([
  ["perPage must be between 1 and 137", 137],
  ["perPage exceeds the maximum of 250", 250],
  ["max 64", 64],
  ["at most 99 rows", 99],
  ["perPage must not be greater than 137", 137],
  ["per_page cannot be larger than 120", 120],
])("a maximum that the refusal names is taken at its word: %s", (excerpt, most) => {
  expect(negotiate((shape) => shape.perPage <= most, excerpt)).toMatchObject({ shape: { perPage: most }, refusals: 1 });
});

test("numbers that are no maximum, such as a status or a time, are not taken for one", () => {
  const next = formAfterRefusal(
    initialForm(1000),
    { perPage: 1000, ...full },
    '{"status":400,"timestamp":"2026-11-21T10:30:59Z"}',
    options,
  );
  expect(next?.perPage).toBe(750);
});

test("a page of HTML names no maximum by its tags, only by its words", () => {
  const refused = (excerpt: string) =>
    formAfterRefusal(initialForm(1000), { perPage: 1000, ...full }, excerpt, options)?.perPage;
  expect(refused("<!DOCTYPE html><html><body><h1>Bad request</h1><hr>nginx</body></html>")).toBe(750);
  expect(refused("<html><h1>perPage</h1><h2>must be at most 120</h2></html>")).toBe(120);
});

test("a refusal that blames sorting or embedding gives up that, and keeps the page size", () => {
  const blame = (excerpt: string) => formAfterRefusal(initialForm(1000), { perPage: 1000, ...full }, excerpt, options);
  expect(blame("unknown parameter sortBy")).toMatchObject({ sort: false, include: true, perPage: 1000 });
  expect(blame("include is not supported")).toMatchObject({ sort: true, include: false, perPage: 1000 });
});

test("a refusal without words ends with sorting, then embedding given up, each from the largest page again", () => {
  expect(negotiate((shape) => !shape.sort)).toMatchObject({ shape: { sort: false, include: true, perPage: 1000 } });
  expect(negotiate((shape) => !shape.sort && !shape.include)).toMatchObject({ shape: { perPage: 1000 } });
  expect(negotiate(() => false)).toBeNull();
});

test("what another list was granted is tried next, after the largest page was refused", () => {
  expect(negotiate((shape) => shape.perPage <= 50, "", 50)).toMatchObject({ shape: { perPage: 50 }, refusals: 1 });
});

test("a later page of another size is asked for in the size of the first, once, unless the refusal names a maximum or the depth", () => {
  const shape = { ...initialForm(100), settled: true };
  const refused = { ...full, perPage: 99, include: false, later: true };
  expect(withFixedPages(shape, refused, "perPage must be one of 10, 20, 50, 100")).toEqual({ ...shape, fixed: true });
  expect(withFixedPages({ ...shape, fixed: true }, refused, "")).toBeNull();
  expect(withFixedPages(shape, { ...refused, perPage: 100 }, "")).toBeNull();
  expect(withFixedPages(shape, { ...refused, later: false }, "")).toBeNull();
  expect(withFixedPages(shape, refused, "perPage must be at most 50")).toBeNull();
  expect(withFixedPages(shape, refused, "result window is too large")).toBeNull();
});

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
  const before = idleState({ stream: "accounts", scope: "", at: 0 }, { totalCount: null });
  const counted = (rows: number, known: typeof before | undefined) =>
    pageReadOf({ ...accounts, rows, before: known }, request, [], { ...META, totalCount: 1000 }).total;
  expect([counted(1200, before), counted(900, before), counted(1200, undefined)]).toEqual([null, 1000, 1000]);
});

test("the largest page of the run goes along, if there was one", () => {
  expect(read([], {}, 20).granted).toBe(20);
  expect("granted" in read([])).toBe(false);
});

test("a refused page is an empty one that proves nothing", () => {
  expect(pageBeyondEnd(request)).toMatchObject({ ...request, ids: [], rows: 0, total: null, refused: true });
});

const DAY = 86_400_000;

test("a window holds walks up until its time, and a clock that was ahead holds nothing up for longer", () => {
  const window = { rows: 500, walks: 1, notBefore: 10 * DAY, spread: 0 };
  expect(endsAtWindow(window, 9 * DAY)).toBe(true);
  expect(endsAtWindow(window, 10 * DAY)).toBe(false);
  expect(endsAtWindow({ ...window, notBefore: 400 * DAY }, DAY)).toBe(false);
  expect(endsAtWindow(null, DAY)).toBe(false);
});

test("a count that differs is the same disagreement only near the rows, and after two walks that ended there", () => {
  const window = { rows: 700, walks: 2, notBefore: 0, spread: 15 };
  expect(endsThereAgain(window, { total: 671, rows: 700, isSteady: false })).toBe(true);
  expect(endsThereAgain(window, { total: 731, rows: 700, isSteady: false })).toBe(false);
  expect(endsThereAgain({ ...window, walks: 1 }, { total: 700, rows: 700, isSteady: false })).toBe(false);
});
