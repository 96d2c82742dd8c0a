// State of one process: each update sees the one before it, and a broken fence changes nothing.
import { expect, test } from "vitest";
import { createMemoryState } from "../../../../src/budget/store/in-memory.ts";

const clock = { now: () => 7, sleep: async () => undefined };
const fence = { key: "k", value: "v" };

test("updates are made in the order of the calls, at the clock's time", async () => {
  const store = createMemoryState(clock, 1);
  const add = (more: number) => store.update((state, now) => ({ state: state + more, result: [state, now] }));
  expect(await Promise.all([add(1), add(10), add(100)])).toEqual([
    [1, 7],
    [2, 7],
    [12, 7],
  ]);
  expect(store.shared).toBe(false);
});

test("a step that throws, and one behind a broken fence, leave the state as it was", async () => {
  const store = createMemoryState(clock, 1, () => false);
  const step = (state: number) => ({ state: state + 1, result: state });
  await expect(store.update(step, { fence })).rejects.toMatchObject({ code: "FENCED" });
  const failing = store.update(() => {
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(await store.update(step)).toBe(1);
});
