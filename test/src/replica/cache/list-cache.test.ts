// Values kept up to a number of bytes.
import { expect, test } from "vitest";
import { createCache } from "../../../../src/replica/cache/list-cache.ts";

test("the values used longest ago go first", () => {
  const kept = createCache<string>(100);
  for (const key of ["a", "b", "c"]) kept.set(key, key, 30);
  expect(kept.get("a")).toBe("a");
  kept.set("d", "d", 30);
  expect(["a", "b", "c", "d"].map((key) => kept.get(key))).toEqual(["a", undefined, "c", "d"]);
});

test("a value larger than the bound pushes no other out, and a value set again counts once", () => {
  const kept = createCache<string>(100);
  kept.set("a", "a", 50);
  kept.set("large", "large", 101);
  kept.set("a", "later", 50);
  kept.set("b", "b", 50);
  expect(["a", "b", "large"].map((key) => kept.get(key))).toEqual(["later", "b", undefined]);
});

test("values go by the beginning of their keys, and make room", () => {
  const kept = createCache<string>(100);
  for (const key of ["one 1", "one 2", "two 1"]) kept.set(key, key, 30);
  kept.dropAll("one ");
  kept.set("two 2", "two 2", 70);
  expect(["one 1", "one 2", "two 1", "two 2"].map((key) => kept.get(key))).toEqual([
    undefined,
    undefined,
    "two 1",
    "two 2",
  ]);
});
