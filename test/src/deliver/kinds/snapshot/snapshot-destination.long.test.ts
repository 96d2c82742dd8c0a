// Snapshots in a folder: equal to what was published, at lasting addresses, none that holds an erased person.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  nextEntries,
  type SnapshotOptions,
  snapshotDestination,
} from "../../../../../src/deliver/kinds/snapshot/snapshot-destination.ts";
import { folderStore } from "../../../../../src/deliver/stores/folder-store.ts";
import type { ObjectStore } from "../../../../../src/deliver/stores/object-store.ts";
import { addContacts, erase } from "../../../../destinations/erasing.ts";
import { change } from "../../../../support/change-mirror.ts";
import { tempDir } from "../../../warehouse/temp-dir.ts";
import { signalsOf, withSource } from "../../moving-mirror.ts";
import { watched } from "../../stores/watched-store.ts";

const ALL = { count: 100, ageMs: null };
const listSchema = z.object({
  data: z.array(
    z.object({ n: z.number(), at: z.iso.datetime(), position: z.number(), bytes: z.number(), complete: z.boolean() }),
  ),
});

const deliver = (dataDir: string, dir: string, more: Partial<SnapshotOptions> & { store?: ObjectStore } = {}) => {
  const { store = folderStore("files", dir), ...options } = more;
  const destination = snapshotDestination(store, { keeping: ALL, clock: { now: () => Date.now() }, ...options });
  return withSource(dataDir, (source) => destination.deliver(source, new AbortController().signal));
};
const publish = (dataDir: string, id: number) =>
  change(dataDir, (warehouse) => warehouse.commit(signalsOf("2026-05", [id], `signal ${id}`)));
const sum = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
const numbersIn = (dir: string) => listSchema.parse(JSON.parse(readFileSync(join(dir, "snapshots.json"), "utf8"))).data;
const foldersIn = (dir: string) => readdirSync(join(dir, "snapshots")).sort();
const kept = (dir: string, n: number) => join(dir, "snapshots", String(n), "warehouse.duckdb");

test("each published snapshot has its number and its bytes; now/ is the newest; a second delivery writes nothing", async () => {
  const [dataDir, dir] = [tempDir(), tempDir()];
  const sums: string[] = [];
  for (const id of [1, 2, 3]) {
    await publish(dataDir, id);
    await deliver(dataDir, dir);
    sums.push(sum(join(dataDir, "warehouse.duckdb")));
  }
  expect(numbersIn(dir).map(({ n, position }) => [n, position])).toEqual([
    [3, 3],
    [2, 2],
    [1, 1],
  ]);
  expect([1, 2, 3].map((n) => sum(kept(dir, n)))).toEqual(sums);
  expect(sum(join(dir, "now/warehouse.duckdb"))).toBe(sums[2]);
  const again = await deliver(dataDir, dir);
  expect(again.bytes).toBe(0);
  expect(foldersIn(dir)).toEqual(["1", "2", "3"]);
});

test("those beyond keep_snapshots go, and their numbers are not given again", async () => {
  const [dataDir, dir] = [tempDir(), tempDir()];
  for (const id of [1, 2, 3, 4]) {
    await publish(dataDir, id);
    await deliver(dataDir, dir, { keeping: { count: 2, ageMs: null } });
  }
  expect(numbersIn(dir).map(({ n }) => n)).toEqual([4, 3]);
  expect(foldersIn(dir).filter((n) => existsSync(kept(dir, Number(n))))).toEqual(["3", "4"]);
});

test("after `forget` the next delivery leaves no snapshot that holds the person, nor what a killed delivery left", async () => {
  const [dataDir, dir] = [tempDir(), tempDir()];
  await addContacts(dataDir, ["contact-1", "contact-2"]);
  await deliver(dataDir, dir);
  await addContacts(dataDir, ["contact-3"]);
  await deliver(dataDir, dir);
  // A delivery took the number 3, sent its file and was killed.
  mkdirSync(join(dir, "snapshots/3"));
  writeFileSync(join(dir, "snapshots/3/taken"), "killed");
  writeFileSync(kept(dir, 3), readFileSync(kept(dir, 2)));
  expect(readFileSync(kept(dir, 1)).includes("contact-1@example.com")).toBe(true);
  await erase(dataDir, "contact-1");
  await deliver(dataDir, dir);
  expect(numbersIn(dir).map(({ n }) => n)).toEqual([4]);
  const files = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".duckdb"));
  expect(files.sort()).toEqual(["now/warehouse.duckdb", "snapshots/4/warehouse.duckdb"]);
  for (const file of files) {
    const bytes = readFileSync(join(dir, file));
    expect([file, bytes.includes("contact-1"), bytes.includes("contact-2")]).toEqual([file, false, true]);
  }
});

test("a delivery that ends between the list and now/ is completed by the next one", async () => {
  const [dataDir, dir] = [tempDir(), tempDir()];
  await publish(dataDir, 1);
  await deliver(dataDir, dir);
  await publish(dataDir, 2);
  const broken = watched(folderStore("files", dir), (what, key) => {
    if (what === "upload" && key.startsWith("now/")) throw new Error("killed");
  });
  await expect(deliver(dataDir, dir, { store: broken })).rejects.toThrow("killed");
  expect(sum(join(dir, "now/warehouse.duckdb"))).toBe(sum(kept(dir, 1)));
  await deliver(dataDir, dir);
  expect(numbersIn(dir).map(({ n }) => n)).toEqual([2, 1]);
  expect(sum(join(dir, "now/warehouse.duckdb"))).toBe(sum(kept(dir, 2)));
});

/** A store in which `work` is done before the first request of this kind. */
const meanwhile = (dir: string, request: string, work: () => Promise<unknown>): ObjectStore => {
  let done: Promise<unknown> | undefined;
  return watched(folderStore("files", dir), async (what, key) => {
    if (`${what} ${key}` !== request) return;
    done ??= work();
    await done;
  });
};

test("of two deliveries at once each has a number of its own, and the one that ends second is refused", async () => {
  const [dataDir, dir] = [tempDir(), tempDir()];
  await publish(dataDir, 1);
  await deliver(dataDir, dir);
  await publish(dataDir, 2);
  const store = meanwhile(dir, "put snapshots.json", () => deliver(dataDir, dir));
  await expect(deliver(dataDir, dir, { store })).rejects.toMatchObject({ code: "DESTINATION_OVERTAKEN" });
  expect(numbersIn(dir).map(({ n }) => n)).toEqual([3, 1]);
  expect(sum(kept(dir, 3))).toBe(sum(join(dataDir, "warehouse.duckdb")));
});

test("a delivery that is overtaken while it sends its file leaves none behind", async () => {
  const [dataDir, dir] = [tempDir(), tempDir()];
  await publish(dataDir, 1);
  await deliver(dataDir, dir);
  await publish(dataDir, 2);
  const store = meanwhile(dir, "upload snapshots/2/warehouse.duckdb", () => deliver(dataDir, dir));
  await expect(deliver(dataDir, dir, { store })).rejects.toMatchObject({ code: "DESTINATION_OVERTAKEN" });
  expect(numbersIn(dir).map(({ n }) => n)).toEqual([3, 1]);
  expect([1, 2, 3].filter((n) => existsSync(kept(dir, n)))).toEqual([1, 3]);
});

test("a delivery that brings an older snapshot to now/ late fails, and the next one corrects it", async () => {
  const [dataDir, dir] = [tempDir(), tempDir()];
  await publish(dataDir, 1);
  const store = meanwhile(dir, "upload now/warehouse.duckdb", async () => {
    await publish(dataDir, 2);
    await deliver(dataDir, dir);
  });
  await expect(deliver(dataDir, dir, { store })).rejects.toMatchObject({ code: "DESTINATION_OVERTAKEN" });
  await deliver(dataDir, dir);
  expect(sum(join(dir, "now/warehouse.duckdb"))).toBe(sum(kept(dir, 2)));
});

test("another mirror's snapshots are left alone, and so is a list that is none", async () => {
  const [dataDir, other, dir] = [tempDir(), tempDir(), tempDir()];
  await publish(dataDir, 1);
  await publish(other, 1);
  await deliver(dataDir, dir);
  await expect(deliver(other, dir)).rejects.toMatchObject({ code: "DESTINATION_OTHER_MIRROR" });
  writeFileSync(join(dir, "snapshots.json"), "{}");
  await expect(deliver(dataDir, dir)).rejects.toMatchObject({ code: "DESTINATION_FAILED" });
});

test("an earlier snapshot stays for its age after the next one replaced it", () => {
  const entry = (n: number, at: string) => ({ n, at, position: n, bytes: 1, complete: true, erasures: "e" });
  const day = (nth: number) => `2026-11-0${nth}T00:00:00.000Z`;
  const before = [entry(3, day(3)), entry(2, day(2)), entry(1, day(1))];
  const after = nextEntries(before, entry(4, day(4)), { count: 10, ageMs: 36 * 3_600_000 }, Date.parse(day(4)));
  expect(after.map(({ n }) => n)).toEqual([4, 3, 2]);
  expect(nextEntries(before, { ...entry(4, day(4)), erasures: "f" }, ALL, Date.parse(day(4)))).toHaveLength(1);
});
