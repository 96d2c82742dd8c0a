import { expect, test } from "vitest";
import { initialShape, type ListShape, shapeAfterRefusal, withFixedPages } from "../../../../src/sync/list/form.ts";

const full = { sort: true, include: true, content: false, names: false, filters: false };
const options = { largest: 1000, elsewhere: null };

/** Asks until a service that accepts `accepts` is satisfied; answers with the shape and the refusals it took. */
const negotiate = (accepts: (shape: ListShape) => boolean, excerpt = "", elsewhere: number | null = null) => {
  let shape: ListShape | null = initialShape(1000);
  for (let refusals = 0; shape !== null; refusals++) {
    if (accepts(shape)) return { shape, refusals };
    shape = shapeAfterRefusal(
      shape,
      {
        perPage: shape.perPage,
        sort: shape.sort,
        include: shape.include,
        content: false,
        names: false,
        filters: false,
      },
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
  const next = shapeAfterRefusal(
    initialShape(1000),
    { perPage: 1000, ...full },
    '{"status":400,"timestamp":"2026-11-21T10:30:59Z"}',
    options,
  );
  expect(next?.perPage).toBe(750);
});

test("a page of HTML names no maximum by its tags, only by its words", () => {
  const refused = (excerpt: string) =>
    shapeAfterRefusal(initialShape(1000), { perPage: 1000, ...full }, excerpt, options)?.perPage;
  expect(refused("<!DOCTYPE html><html><body><h1>Bad request</h1><hr>nginx</body></html>")).toBe(750);
  expect(refused("<html><h1>perPage</h1><h2>must be at most 120</h2></html>")).toBe(120);
});

test("a refusal that blames sorting or embedding gives up that, and keeps the page size", () => {
  const blame = (excerpt: string) =>
    shapeAfterRefusal(initialShape(1000), { perPage: 1000, ...full }, excerpt, options);
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
  const shape = { ...initialShape(100), settled: true };
  const refused = {
    perPage: 99,
    sort: true,
    include: false,
    content: false,
    names: false,
    filters: false,
    later: true,
  };
  expect(withFixedPages(shape, refused, "perPage must be one of 10, 20, 50, 100")).toEqual({ ...shape, fixed: true });
  expect(withFixedPages({ ...shape, fixed: true }, refused, "")).toBeNull();
  expect(withFixedPages(shape, { ...refused, perPage: 100 }, "")).toBeNull();
  expect(withFixedPages(shape, { ...refused, later: false }, "")).toBeNull();
  expect(withFixedPages(shape, refused, "perPage must be at most 50")).toBeNull();
  expect(withFixedPages(shape, refused, "result window is too large")).toBeNull();
});
