// Calls of the same moment, carried out as one.
import { expect, test } from "vitest";
import { gathered } from "../../../../src/core/async/gathered.ts";

test("calls of the same moment are one, in their order, and each gets its own result", async () => {
  const seen: (readonly number[])[] = [];
  const doubled = gathered(3, async (items: readonly number[]) => {
    seen.push(items);
    return items.map((item) => 2 * item);
  });
  expect(await Promise.all([1, 2, 3, 4].map(doubled))).toEqual([2, 4, 6, 8]);
  expect(await doubled(5)).toBe(10);
  expect(seen).toEqual([[1, 2, 3], [4], [5]]);
});

test("a failure, or a missing result, fails the calls that were carried out together, and no other", async () => {
  const work = gathered(2, async (items: readonly string[]) => {
    if (items.includes("bad")) throw new Error("refused");
    return items.includes("short") ? [] : items;
  });
  const ends = await Promise.allSettled(["a", "bad", "b", "c", "short"].map(work));
  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled", "fulfilled", "rejected"]);
});
