// Many items, few of them under way.
import { expect, test } from "vitest";
import { gathered, mapAtOnce } from "../../../../src/core/async/concurrency.ts";

// Calls of the same moment, carried out as one.

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

test("results come in the order of the items, however long each takes, and never more than allowed are under way", async () => {
  let underWay = 0;
  let most = 0;
  const turns = [5, 1, 3, 0, 2];
  const results = await mapAtOnce(turns, 2, async (turn) => {
    underWay += 1;
    most = Math.max(most, underWay);
    for (let n = 0; n < turn; n++) await Promise.resolve();
    underWay -= 1;
    return turn * 10;
  });
  expect(results).toEqual([50, 10, 30, 0, 20]);
  expect(most).toBe(2);
  expect(await mapAtOnce([], 2, async () => 1)).toEqual([]);
});

test("the first failure is thrown once all have ended; the others are done nevertheless", async () => {
  const done: number[] = [];
  const failing = mapAtOnce([1, 2, 3], 1, async (item) => {
    if (item < 3) throw new Error(`${item}`);
    done.push(item);
  });
  await expect(failing).rejects.toThrow("1");
  expect(done).toEqual([3]);
});
