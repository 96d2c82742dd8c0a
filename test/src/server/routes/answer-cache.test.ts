// Kept answers: written once, bounded in bytes.
import { expect, test } from "vitest";
import { createAnswerCache, type KeptAnswer } from "../../../../src/server/routes/mirror-answer.ts";

const answer = (bytes: number): KeptAnswer => ({ bytes: Buffer.alloc(bytes), rows: 1 });

test("an answer is written once for all who ask at the same time, and again only after it went", async () => {
  const cache = createAnswerCache(10_000);
  const written: string[] = [];
  const ask = (key: string, bytes = 3000) =>
    cache.get(key, async () => {
      written.push(key);
      return answer(bytes);
    });
  const [one, same] = await Promise.all([ask("a"), ask("a")]);
  expect(one).toBe(same);
  await ask("b");
  await ask("a");
  await ask("c");
  expect(written).toEqual(["a", "b", "c"]);
  // Three do not fit: b was asked for longest ago.
  await ask("a");
  await ask("b");
  expect(written).toEqual(["a", "b", "c", "b"]);
});

test("an answer larger than the bound, and one that failed, are not kept", async () => {
  const cache = createAnswerCache(1000);
  let writes = 0;
  const large = () =>
    cache.get("large", async () => {
      writes += 1;
      return answer(2000);
    });
  await large();
  await large();
  expect(writes).toBe(2);
  await expect(cache.get("x", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect((await cache.get("x", async () => answer(1))).bytes).toHaveLength(1);
});
