// Lists of the parts for engines that cannot read the manifest: they show one delivery, and say which.
import { expect, test } from "vitest";
import {
  isSweepDue,
  listKey,
  partKey,
  type SetManifest,
  sortRetired,
  sweep,
  updateLists,
} from "../../../../../src/deliver/kinds/parquet/parquet-set.ts";
import { aMemoryStore, type MemoryStoreChoice } from "../../stores/a-memory-store.ts";

// Parts of a delivered set that go: earlier ones after their grace period, unfinished ones after a day.

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 0, 10);
const since = (ms: number) => new Date(NOW - ms).toISOString();

test("an earlier part is due when its grace period is over, and not before", () => {
  const parts = [
    { file: "a", since: since(1000) },
    { file: "b", since: since(999) },
  ];
  const { due, kept } = sortRetired(parts, 1000, NOW);
  expect([due.map(({ file }) => file), kept.map(({ file }) => file)]).toEqual([["a"], ["b"]]);
});

test("a store is searched once a day; a time that cannot be read is long ago", () => {
  expect([isSweepDue(since(DAY_MS), NOW), isSweepDue(since(DAY_MS - 1), NOW), isSweepDue("", NOW)]).toEqual([
    ...[true, false, true],
  ]);
});

const OLD_PART = "signals/2025-01-0123456789abcdef-01234567.parquet";
const UUID = "01234567-0123-0123-0123-0123456789ab";

/** Keys that are removed of a store with these objects, each so old. */
const swept = async (objects: Readonly<Record<string, number>>, named: readonly string[] = [], graceMs = 0) => {
  const deleted: string[] = [];
  const store = {
    list: async function* () {
      for (const [key, age] of Object.entries(objects)) yield { key, modifiedAt: NOW - age };
    },
    delete: async (keys: readonly string[]) => void deleted.push(...keys),
  };
  const found = await sweep(store, new Set(named), { graceMs, now: NOW }, new AbortController().signal);
  expect(found).toBe(deleted.length);
  return deleted;
};

test("only what a delivery writes is removed, however old anything else is", async () => {
  const ours = [OLD_PART, `accounts/.${UUID}.new`, `.${UUID}.new`, `_conditions-${UUID}`];
  const others = ["_manifest.json", "_symlink/signals/manifest", "signals/mine.parquet", "notes.txt", `x/${OLD_PART}`];
  const old = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, 9 * DAY_MS]));
  expect(await swept(old([...ours, ...others]))).toEqual(ours);
});

test("a part that a manifest names stays, and so does one that another delivery may be writing", async () => {
  expect(await swept({ [OLD_PART]: 9 * DAY_MS }, [OLD_PART])).toEqual([]);
  expect(await swept({ [OLD_PART]: DAY_MS })).toEqual([]);
  expect(await swept({ [OLD_PART]: DAY_MS + 1 })).toEqual([OLD_PART]);
  expect(await swept({ [OLD_PART]: 2 * DAY_MS }, [], 3 * DAY_MS)).toEqual([]);
});

test("the name of a part is one that a later sweep knows as its own", async () => {
  const sha256 = "0123456789abcdef".repeat(4);
  const keys = [null, "2025-01"].map((partition) => partKey({ table: "signals", partition, sha256 }, UUID));
  expect(keys).toEqual(["signals/all-0123456789abcdef-01234567.parquet", OLD_PART]);
  expect(await swept(Object.fromEntries(keys.map((key) => [key, 2 * DAY_MS])))).toEqual(keys);
});

/** `parts`: table -> files of its parts. */
const aManifest = (delivery: string, parts: Readonly<Record<string, readonly string[]>>): SetManifest => ({
  ...{ version: 1, format: "parquet", delivery, delivered: { mirror: "m", n: 1, mark: "" }, run: null },
  tables: Object.keys(parts),
  files: Object.entries(parts).flatMap(([table, files]) =>
    files.map((file) => ({
      ...{ file, table, partition: null, rows: 1, bytes: 10, sha256: "0", run: null, fingerprint: file },
    })),
  ),
  ...{ retired: [], swept: "2026-01-01T00:00:00.000Z" },
});

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
