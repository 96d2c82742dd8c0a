// The rows of a page that are read together, and those that are read one by one.
import fc from "fast-check";
import { expect, test } from "vitest";
import { nearRows } from "../../../../src/replica/query/near-rows.ts";

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
