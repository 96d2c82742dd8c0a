// Paging and sorting: complete, stable and cheap to ask for, whatever the page size.

import fc from "fast-check";
import { expect, test } from "vitest";
import { signal } from "../../../../src/catalog/resources.ts";
import { nearRows } from "../../../../src/replica/query/list-query.ts";
import { get, many, sharedSandbox, walk } from "../../sandbox/sandbox-client.ts";

// The rows of a page that are read together, and those that are read one by one.

/** Keys of rows in these places: `k` and the place. */
const keysOf = (places: readonly number[]) => places.map((place) => `k${place}`);
const from = (start: number, count: number, step = 1) => Array.from({ length: count }, (_, n) => start + n * step);

test("rows that lie together are read together, in whatever order the page has them", () => {
  const places = [...from(5000, 30), ...from(4000, 30)];
  const { near, others } = nearRows(keysOf(places), places);
  expect(near).toMatchObject({ from: 4000, to: 5029 });
  expect(near?.keys).toHaveLength(60);
  expect(others).toEqual([]);
});

test("rows that lie elsewhere are read one by one", () => {
  const places = [7, ...from(50_000, 30), 900_000];
  const { near, others } = nearRows(keysOf(places), places);
  expect(near).toMatchObject({ from: 50_000, to: 50_029 });
  expect(others).toEqual(["k7", "k900000"]);
});

test("rows that are scattered, or few, are all read one by one", () => {
  const scattered = from(0, 100, 1000);
  expect(nearRows(keysOf(scattered), scattered)).toEqual({ near: null, others: keysOf(scattered) });
  const few = from(0, 19);
  expect(nearRows(keysOf(few), few)).toEqual({ near: null, others: keysOf(few) });
  expect(nearRows([], [])).toEqual({ near: null, others: [] });
});

test("for any places, every key is in one part, and the near part passes over at most twenty rows for each key", () => {
  const places = fc.uniqueArray(fc.oneof(fc.nat({ max: 3000 }), fc.nat({ max: 4_000_000_000 })), { maxLength: 200 });
  fc.assert(
    fc.property(places, (all) => {
      const { near, others } = nearRows(keysOf(all), all);
      expect([...(near?.keys ?? []), ...others].sort()).toEqual(keysOf(all).sort());
      if (near === null) return;
      expect(near.to - near.from).toBeLessThan(all.length * 20);
      const inside = all.filter((place) => place >= near.from && place <= near.to);
      expect([...near.keys].sort()).toEqual(keysOf(inside).sort());
    }),
  );
});

const sandbox = sharedSandbox();

test.each([1, 7, 100])("pages of %i rows, put together, are the whole list once", async (perPage) => {
  const whole = await walk(sandbox(), "/v1/contacts?sortBy=type");
  const ids: unknown[] = [];
  const pages = Math.ceil(whole.length / perPage);
  for (let page = 1; page <= Math.min(pages, 20); page++) {
    const { data, meta } = await get(sandbox(), `/v1/contacts?sortBy=type&perPage=${perPage}&page=${page}`);
    expect(meta).toMatchObject({ page, perPage, totalCount: whole.length, totalPages: pages });
    ids.push(...many(data).map(({ id }) => id));
  }
  expect(ids).toEqual(whole.map(({ id }) => id).slice(0, ids.length));
});

test("a page behind the last one is empty and still says how many there are", async () => {
  const { data, meta } = await get(sandbox(), "/v1/accounts?page=99");
  expect(data).toEqual([]);
  expect(meta).toMatchObject({ page: 99, totalCount: 12 });
  const far = await get(sandbox(), "/v1/accounts?page=9007199254740993&perPage=100");
  expect(far.data).toEqual([]);
});

test("a larger page than allowed is refused, which is free", async () => {
  const before = sandbox().stats().credits.used;
  expect((await get(sandbox(), "/v1/accounts?perPage=101", 400)).error?.message).toContain("100");
  expect(sandbox().stats().credits.used).toBe(before);
});

test.each(signal.map(({ name }) => name))("signals can be sorted by %s, missing values last", async (name) => {
  const fields = `&onlyWithFields=id,${name}`;
  for (const order of ["asc", "desc"]) {
    const { data } = await get(sandbox(), `/v1/signals?sortBy=${name}&sortOrder=${order}&perPage=100${fields}`);
    const rows = many(data);
    const missing = rows.map((row) => row[name] === undefined);
    expect(missing).toEqual([...missing].sort((left, right) => Number(left) - Number(right)));
    const numbers = rows.flatMap((row) => (typeof row[name] === "number" ? [row[name]] : []));
    expect(numbers).toEqual([...numbers].sort((left, right) => (order === "asc" ? left - right : right - left)));
  }
});

test("newer signals have larger ids", async () => {
  const rows = await walk(sandbox(), "/v1/signals?sortBy=id&sortOrder=asc");
  const created = rows.map(({ createdAt }) => String(createdAt));
  expect(created).toEqual([...created].sort());
});

test("only the named fields come, in any combination", async () => {
  const { data } = await get(sandbox(), "/v1/accounts?onlyWithFields=id,name&perPage=100");
  expect(many(data).every((row) => Object.keys(row).every((name) => ["id", "name"].includes(name)))).toBe(true);
});
