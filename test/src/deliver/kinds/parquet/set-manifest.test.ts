// The manifest of a delivered set: nobody replaces one that he has not read.
import { expect, test } from "vitest";
import { commitSet, readSet } from "../../../../../src/deliver/kinds/parquet/parquet-set.ts";
import { aMemoryStore, type MemoryStore } from "../../stores/a-memory-store.ts";
import { aManifest } from "./a-manifest.ts";

const { signal } = new AbortController();
const NAME = "_manifest.json";
const first = aManifest("first", { accounts: ["a1"] });
const second = aManifest("second", { accounts: ["a2"] });
const deliveryIn = async (store: MemoryStore) => (await readSet(store, signal))?.manifest.delivery;

test("what was committed is read again, and an empty place holds no set", async () => {
  const store = aMemoryStore();
  expect(await readSet(store, signal)).toBeNull();
  await commitSet(store, null, first, signal);
  expect((await readSet(store, signal))?.manifest).toEqual(first);
});

test("a manifest replaces the one that was read", async () => {
  const store = aMemoryStore();
  await commitSet(store, null, first, signal);
  await commitSet(store, await readSet(store, signal), second, signal);
  expect(await deliveryIn(store)).toBe("second");
});

test("two deliveries at once: the second one to commit is refused, and changes nothing", async () => {
  const store = aMemoryStore();
  await commitSet(store, null, first, signal);
  const read = await readSet(store, signal);
  await commitSet(store, read, second, signal);
  const third = aManifest("third", {});
  await expect(commitSet(store, read, third, signal)).rejects.toMatchObject({ code: "DESTINATION_OVERTAKEN" });
  await expect(commitSet(store, null, third, signal)).rejects.toMatchObject({ code: "DESTINATION_OVERTAKEN" });
  expect(await deliveryIn(store)).toBe("second");
});

test("a commit whose answer was lost, and which its repetition therefore fails, has succeeded", async () => {
  const store = aMemoryStore({ losesAnswerOf: NAME });
  await commitSet(store, null, first, signal);
  await commitSet(store, await readSet(store, signal), second, signal);
  expect(await deliveryIn(store)).toBe("second");
});

test.each(["", "{}", "[1", JSON.stringify({ ...first, version: 2 }), JSON.stringify({ ...first, files: [{}] })])(
  "a manifest that no delivery wrote is an error, not an empty place: %j",
  async (text) => {
    const store = aMemoryStore();
    store.texts.set(NAME, text);
    await expect(readSet(store, signal)).rejects.toMatchObject({
      code: "DESTINATION_FAILED",
      context: { name: "files" },
    });
  },
);
