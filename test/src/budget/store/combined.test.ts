// Updates of one process at the same time: one read and one write of the shared state, in their order.
import { expect, test } from "vitest";
import { combined } from "../../../../src/budget/store/in-redis.ts";
import type { StateStore } from "../../../../src/budget/store/state-store.ts";
import { createMemoryState } from "../../../../src/budget/store/state-store.ts";
import { systemClock } from "../../../../src/core/clock.ts";

/** A store of a list of names whose updates wait for `go`, and are counted. */
const aStore = () => {
  const memory = createMemoryState<readonly string[]>(systemClock, []);
  const gates: (() => void)[] = [];
  let updates = 0;
  const slow: StateStore<readonly string[]> = {
    shared: true,
    update: async (step, options) => {
      updates += 1;
      await new Promise<void>((resolve) => gates.push(resolve));
      return memory.update(step, options);
    },
  };
  return {
    store: combined(slow),
    updates: () => updates,
    go: async () => {
      await expect.poll(() => gates.length).toBeGreaterThan(0);
      gates.shift()?.();
    },
    names: () => memory.update((state) => ({ state, result: state })),
  };
};

const adding = (name: string) => (state: readonly string[]) => ({ state: [...state, name], result: state.length });

test("what is asked for during an update is done by one update after it, in order, each with its own result", async () => {
  const { store, go, updates, names } = aStore();
  const results = ["a", "b", "c", "d"].map((name) => store.update(adding(name)));
  await go();
  expect(await results[0]).toBe(0);
  await go();
  expect(await Promise.all(results)).toEqual([0, 1, 2, 3]);
  expect([updates(), await names()]).toEqual([2, ["a", "b", "c", "d"]]);
});

test("one whose caller left while it waited is not done, the others are", async () => {
  const { store, go, names } = aStore();
  const first = store.update(adding("a"));
  const leaving = new AbortController();
  const left = expect(store.update(adding("b"), { signal: leaving.signal })).rejects.toBe("left");
  const last = store.update(adding("c"));
  leaving.abort("left");
  await go();
  await go();
  await left;
  expect(await Promise.all([first, last])).toEqual([0, 1]);
  expect(await names()).toEqual(["a", "c"]);
});

test("one whose caller leaves while the store does not answer ends at once, whatever the others wait for", async () => {
  const { store, go, names } = aStore();
  const leaving = new AbortController();
  const left = store.update(adding("a"), { signal: leaving.signal });
  const other = store.update(adding("b"));
  leaving.abort("left");
  // The store has not answered: nobody has opened its gate.
  await expect(left).rejects.toBe("left");
  await go();
  await go();
  expect(await other).toBe(0);
  expect(await names()).toEqual(["b"]);
});

test("one whose step throws is refused with its own error, the others are made", async () => {
  const { store, go, names } = aStore();
  const first = store.update(adding("a"));
  const failing = expect(
    store.update(() => {
      throw new RangeError("no such step");
    }),
  ).rejects.toThrow("no such step");
  const last = store.update(adding("c"));
  await go();
  await go();
  await failing;
  expect(await Promise.all([first, last])).toEqual([0, 1]);
  expect(await names()).toEqual(["a", "c"]);
});
