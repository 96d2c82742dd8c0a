// A store that ignores conditions is found out before the first delivery.
import { expect, test } from "vitest";
import { assertConditional } from "../../../../../src/deliver/kinds/parquet/conditional-writes.ts";
import { aMemoryStore } from "../../stores/a-memory-store.ts";

const { signal } = new AbortController();

test("a store that keeps conditions is accepted, and nothing is left in it", async () => {
  const store = aMemoryStore();
  await assertConditional(store, signal);
  expect(store.texts.size).toBe(0);
});

test.each(["ifMatch", "ifNoneMatch"] as const)(
  "a store that ignores %s is refused, and nothing is left in it",
  async (ignores) => {
    const store = aMemoryStore({ ignores });
    await expect(assertConditional(store, signal)).rejects.toMatchObject({
      code: "DESTINATION_UNCONDITIONAL",
      context: { name: "files" },
    });
    expect(store.texts.size).toBe(0);
  },
);
