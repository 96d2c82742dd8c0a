// Lists of the parts for engines that cannot read the manifest: they show one delivery, and say which.
import { expect, test } from "vitest";
import { listKey, updateLists } from "../../../../../src/deliver/kinds/parquet/lists.ts";
import type { SetManifest } from "../../../../../src/deliver/kinds/parquet/set-manifest.ts";
import { aMemoryStore, type MemoryStoreChoice } from "../../stores/a-memory-store.ts";
import { aManifest } from "./a-manifest.ts";

const { signal } = new AbortController();
const first = aManifest("first", { accounts: ["accounts/a1"], signals: ["signals/s1", "signals/s2"] });
const second = aManifest("second", { accounts: ["accounts/a1"], signals: ["signals/s3"] });
const third = aManifest("third", { accounts: ["accounts/a9"], signals: [] });

const rig = (choice: MemoryStoreChoice = {}) => {
  const store = aMemoryStore(choice);
  const show = (manifest: SetManifest) => void store.texts.set("_manifest.json", JSON.stringify(manifest));
  const update = (before: SetManifest | null, after: SetManifest) => updateLists(store, before, after, signal);
  return {
    store,
    show,
    update,
    /** A delivery: its manifest, then its lists. */
    deliver: (before: SetManifest | null, after: SetManifest) => {
      show(after);
      return update(before, after);
    },
    list: (table: string) => store.texts.get(listKey(table)),
  };
};

test("each table has a list with the address of each of its parts, one a line", async () => {
  const { deliver, list } = rig();
  await deliver(null, first);
  expect(list("accounts")).toBe("s3://lake/set/accounts/a1\n");
  expect(list("signals")).toBe("s3://lake/set/signals/s1\ns3://lake/set/signals/s2\n");
});

test("the next delivery writes only the lists that show something else", async () => {
  const { deliver, store, list } = rig();
  await deliver(null, first);
  store.log.length = 0;
  await deliver(first, second);
  expect(list("signals")).toBe("s3://lake/set/signals/s3\n");
  expect(store.log).not.toContain(`put ${listKey("accounts")}`);
  store.log.length = 0;
  await deliver(second, second);
  expect(store.log).toEqual([]);
});

test("a table whose last part is gone has an empty list", async () => {
  const { deliver, list } = rig();
  await deliver(null, first);
  await deliver(first, third);
  expect(list("signals")).toBe("");
});

test("what a killed delivery left is finished by the next one, although its own rows are the same", async () => {
  const { deliver, show, update, store, list } = rig();
  await deliver(null, first);
  show(second);
  store.texts.set(listKey("accounts"), "half a li");
  store.texts.delete("_symlink/_delivery");
  await update(second, second);
  expect(list("accounts")).toBe("s3://lake/set/accounts/a1\n");
  expect(list("signals")).toBe("s3://lake/set/signals/s3\n");
});

test("while lists are written, none of them counts as the delivery's", async () => {
  const { deliver, store } = rig();
  await deliver(null, first);
  store.log.length = 0;
  await deliver(first, second);
  expect(store.log).toEqual(["delete _symlink/_delivery", `put ${listKey("signals")}`, "put _symlink/_delivery"]);
});

test("another delivery that comes between has the last word", async () => {
  const { deliver, list } = rig({
    before: (key, store) => {
      if (key === listKey("signals")) store.texts.set("_manifest.json", JSON.stringify(third));
    },
  });
  await deliver(null, second);
  expect([list("accounts"), list("signals")]).toEqual(["s3://lake/set/accounts/a9\n", ""]);
});

test("that holds also for a list which both deliveries around this one show alike", async () => {
  const again = { ...first, delivery: "again" };
  const comes = { between: false };
  const { deliver, list } = rig({
    before: (key, store) => {
      if (comes.between && key === listKey("signals")) store.texts.set("_manifest.json", JSON.stringify(again));
    },
  });
  await deliver(null, first);
  comes.between = true;
  await deliver(first, second);
  expect(list("signals")).toBe("s3://lake/set/signals/s1\ns3://lake/set/signals/s2\n");
});

test("a folder has no lists: no engine on another machine knows its files", async () => {
  const { deliver, store } = rig({ address: null });
  await deliver(null, first);
  expect(store.log).toEqual([]);
});
