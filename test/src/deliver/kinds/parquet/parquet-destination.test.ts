// A set of Parquet parts in a folder: equal to the snapshot after each delivery, never mixed, cheap where little changed.
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TABLE_NAMES } from "../../../../../src/catalog/tables.ts";
import { isCode } from "../../../../../src/core/errors.ts";
import { parquetDestination } from "../../../../../src/deliver/kinds/parquet/parquet-destination.ts";
import { folderStore } from "../../../../../src/deliver/stores/folder-store.ts";
import { assertConditional } from "../../../../../src/deliver/stores/object-store.ts";
import { change } from "../../../../support/change-mirror.ts";
import { tempDir } from "../../../warehouse/temp-dir.ts";
import { deleteSignals, signalsOf } from "../../moving-mirror.ts";
import { aMemoryStore } from "../../stores/a-memory-store.ts";
import { watched } from "../../stores/watched-store.ts";
import { contentOf, deliver, expectSnapshot, filesIn, manifestOf } from "./a-set.ts";

// A store that ignores conditions is found out before the first delivery.

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

const HOUR_MS = 3_600_000;
const failsWith = (code: Parameters<typeof isCode>[1]) => (error: unknown) => isCode(error, code);

/** A mirror with signals of two months, and a folder to deliver to. */
const aMirror = async () => {
  const root = tempDir();
  const dataDir = join(root, "data");
  mkdirSync(dataDir);
  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signalsOf("2025-01", [1, 2], "a"));
    await warehouse.commit(signalsOf("2025-02", [3], "a"));
  });
  return { dataDir, dir: join(root, "set") };
};

const fresh = (before: readonly string[], dir: string) => filesIn(dir).filter((file) => !before.includes(file));

test("the first delivery brings every table; the same snapshot again writes nothing", async () => {
  const { dataDir, dir } = await aMirror();
  const all = { recipient: { tables: [] } };
  const first = await deliver(dataDir, dir, all);
  expect(first.from).toBeNull();
  expect(first.tables.find(({ table }) => table === "signals")).toMatchObject({ extent: "whole", written: 3 });
  await expectSnapshot(dataDir, dir, TABLE_NAMES);
  expect((await manifestOf(dir)).delivered).toEqual(first.to);
  expect(await parquetDestination(folderStore("files", dir), { keepOldPartsMs: 0, clock: Date }).position()).toEqual(
    first.to,
  );

  const before = contentOf(dir);
  const again = await deliver(dataDir, dir, all);
  expect(again).toEqual({ from: first.to, to: first.to, tables: [], leftOut: [], bytes: 0 });
  expect(contentOf(dir)).toEqual(before);
});

test("a change writes its month alone, under a new name; a month whose last row was deleted leaves the set", async () => {
  const { dataDir, dir } = await aMirror();
  await deliver(dataDir, dir);
  const before = filesIn(dir);
  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signalsOf("2025-01", [2], "b"));
    await deleteSignals(warehouse, [3]);
  });
  const { tables } = await deliver(dataDir, dir);
  expect(tables).toEqual([{ table: "signals", extent: "whole", written: 2, deleted: 0 }]);
  expect(fresh(before, dir)).toEqual([expect.stringMatching(/^signals\/2025-01-/)]);
  await expectSnapshot(dataDir, dir);
});

test("parts of earlier sets stay for the grace period, then go; files of others are left alone", async () => {
  const { dataDir, dir } = await aMirror();
  const start = Date.now();
  await deliver(dataDir, dir, { now: start });
  const [first] = (await manifestOf(dir)).files.filter(({ partition }) => partition === "2025-01");
  writeFileSync(join(dir, "signals", "mine.parquet"), "not ours");
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2025-01", [2], "b")));
  await deliver(dataDir, dir, { now: start + HOUR_MS });
  expect((await manifestOf(dir)).retired.map(({ file }) => file)).toEqual([first?.file]);
  await deliver(dataDir, dir, { now: start + 24 * HOUR_MS });
  expect(filesIn(dir)).toContain(first?.file);
  await deliver(dataDir, dir, { now: start + 25 * HOUR_MS });
  expect(filesIn(dir)).not.toContain(first?.file);
  expect(filesIn(dir)).toContain("signals/mine.parquet");
  expect((await manifestOf(dir)).retired).toEqual([]);
  await expectSnapshot(dataDir, dir);
});

test("parts of a delivery that did not end are removed after a day, and not before: it may still be under way", async () => {
  const { dataDir, dir } = await aMirror();
  const start = Date.now();
  await deliver(dataDir, dir, { now: start });
  const lost = [
    "signals/2025-01-0123456789abcdef-01234567.parquet",
    "signals/2025-02-0123456789abcdef-01234567.parquet",
  ];
  for (const file of lost) writeFileSync(join(dir, file), "half");
  const young = new Date(start + 20 * HOUR_MS);
  utimesSync(join(dir, lost[1] ?? ""), young, young);
  await deliver(dataDir, dir, { now: start + 30 * HOUR_MS });
  expect(filesIn(dir)).not.toContain(lost[0]);
  expect(filesIn(dir)).toContain(lost[1]);
  await expectSnapshot(dataDir, dir);
});

test("two deliveries at once: the one that ends first wins, the other fails and leaves the winner's set", async () => {
  const { dataDir, dir } = await aMirror();
  await deliver(dataDir, dir);
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2025-01", [1], "b")));
  let other: Promise<unknown> | null = null;
  const store = watched(folderStore("files", dir), async (what) => {
    if (what !== "upload") return;
    other ??= deliver(dataDir, dir);
    await other;
  });
  await expect(deliver(dataDir, dir, { store })).rejects.toSatisfy(failsWith("DESTINATION_OVERTAKEN"));
  expect(other).not.toBeNull();
  await expectSnapshot(dataDir, dir);
  expect(await deliver(dataDir, dir)).toMatchObject({ tables: [] });
});

test("the answer to the last write is lost: the delivery finds its own manifest and ends well", async () => {
  const { dataDir, dir } = await aMirror();
  const inner = folderStore("files", dir);
  const store = {
    ...inner,
    put: async (...[key, text, condition, signal]: Parameters<typeof inner.put>) => {
      const isWritten = await inner.put(key, text, condition, signal);
      return key === "_manifest.json" ? inner.put(key, text, condition, signal) : isWritten;
    },
  };
  await deliver(dataDir, dir, { store });
  await expectSnapshot(dataDir, dir);
});

test("a store that ignores conditions is refused before anything is written", async () => {
  const { dataDir, dir } = await aMirror();
  const inner = folderStore("files", dir);
  const store = {
    ...inner,
    put: (...[key, text, , signal]: Parameters<typeof inner.put>) => inner.put(key, text, null, signal),
  };
  await expect(deliver(dataDir, dir, { store })).rejects.toSatisfy(failsWith("DESTINATION_UNCONDITIONAL"));
  expect(contentOf(dir)).toEqual([]);
});

test("an aborted delivery leaves the set before, and no files beside the snapshot", async () => {
  const { dataDir, dir } = await aMirror();
  await deliver(dataDir, dir);
  const before = readFileSync(join(dir, "_manifest.json"), "utf8");
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2025-01", [1], "b")));
  const abort = new AbortController();
  const inner = folderStore("files", dir);
  const store = {
    ...inner,
    upload: async (...call: Parameters<typeof inner.upload>) => {
      await inner.upload(...call);
      abort.abort(new Error("stopped"));
    },
  };
  await expect(deliver(dataDir, dir, { store, signal: abort.signal })).rejects.toThrow("stopped");
  expect(readFileSync(join(dir, "_manifest.json"), "utf8")).toBe(before);
  await deliver(dataDir, dir);
  await expectSnapshot(dataDir, dir);
});

test("a set of another mirror is left as it is, unless it is to be taken over", async () => {
  const one = await aMirror();
  const { dataDir } = await aMirror();
  await deliver(one.dataDir, one.dir);
  const before = contentOf(one.dir);
  await expect(deliver(dataDir, one.dir)).rejects.toSatisfy(failsWith("DESTINATION_OTHER_MIRROR"));
  expect(contentOf(one.dir)).toEqual(before);
  await deliver(dataDir, one.dir, { recipient: { takeOver: true } });
  await expectSnapshot(dataDir, one.dir);
});

test("parts that somebody removed come back when the set is taken over, also when the mirror has not changed", async () => {
  const { dataDir, dir } = await aMirror();
  await deliver(dataDir, dir);
  const [part = ""] = filesIn(dir);
  rmSync(join(dir, part));
  expect((await deliver(dataDir, dir)).tables).toEqual([]);
  await deliver(dataDir, dir, { recipient: { takeOver: true } });
  await expectSnapshot(dataDir, dir);
});

test.each(["", "{}", "[1", '{"version":1,"format":"parquet","files":[]}'])(
  "a folder whose manifest no delivery wrote is refused: %j",
  async (text) => {
    const { dataDir, dir } = await aMirror();
    mkdirSync(dir);
    writeFileSync(join(dir, "_manifest.json"), text);
    await expect(deliver(dataDir, dir)).rejects.toSatisfy(failsWith("DESTINATION_FAILED"));
  },
);

test("a file in the place of the folder is an error that names the destination", async () => {
  const { dataDir, dir } = await aMirror();
  writeFileSync(dir, "");
  await expect(deliver(dataDir, dir)).rejects.toSatisfy(failsWith("DESTINATION_FAILED"));
});
