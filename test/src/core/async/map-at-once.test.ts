// Many items, few of them under way.
import { expect, test } from "vitest";
import { mapAtOnce } from "../../../../src/core/async/map-at-once.ts";

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
