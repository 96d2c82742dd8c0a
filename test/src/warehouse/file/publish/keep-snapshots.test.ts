// Earlier snapshots stay as the setting says, under numbers that are given once.
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { staying } from "../../../../../src/warehouse/file/publish/keep-snapshots.ts";
import type { Warehouse } from "../../../../../src/warehouse/file/warehouse.ts";
import { keptFile, keptSnapshots } from "../../../../../src/warehouse/read/kept-snapshots.ts";
import { runQuery } from "../../../../../src/warehouse/read/query.ts";
import { change } from "../../../../support/change-mirror.ts";
import { aCheckpoint, aLoad, aSignal } from "../../builders.ts";
import { tempDir } from "../../temp-dir.ts";

const HOUR_MS = 3_600_000;

const aDir = () => {
  const dataDir = tempDir();
  const snapshot = join(dataDir, "warehouse.duckdb");
  return {
    snapshot,
    folder: join(dataDir, "state", "snapshots"),
    /** Adds a signal and publishes; returns the numbers that are kept. */
    publish: async (id: number, count = 3) => {
      const add = (warehouse: Warehouse) => warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(id)])]));
      await change(dataDir, add, { keepSnapshots: { count, ageMs: null } });
      return (await keptSnapshots(snapshot)).map(({ n }) => n);
    },
  };
};
const signalsIn = async (snapshot: string) =>
  (await runQuery({ snapshot, sql: "SELECT id FROM signals ORDER BY id" })).rows.flat();

test("the newest snapshots stay with their rows and positions, and the oldest goes", async () => {
  const { snapshot, folder, publish } = aDir();
  const numbers: (readonly number[])[] = [];
  for (const id of [1, 2, 3, 4]) numbers.push(await publish(id));
  expect(numbers).toEqual([[1], [2, 1], [3, 2, 1], [4, 3, 2]]);
  const kept = await keptSnapshots(snapshot);
  expect(await Promise.all(kept.map(({ path }) => signalsIn(path)))).toEqual([
    [1, 2, 3, 4],
    [1, 2, 3],
    [1, 2],
  ]);
  expect(kept.map(({ position }) => position)).toEqual([4, 3, 2]);
  expect(kept.map(({ bytes, path }) => bytes - statSync(path).size)).toEqual([0, 0, 0]);
  // The lists were never read.
  expect(kept.map(({ complete }) => complete)).toEqual([false, false, false]);
  expect(readdirSync(folder).sort()).toEqual(["2.duckdb", "3.duckdb", "index.json"]);
});

test("a kept snapshot is the very file that was published, so that keeping it copies nothing", async () => {
  const { snapshot, publish } = aDir();
  await publish(1);
  const { ino, mtimeMs } = statSync(snapshot);
  await publish(2);
  expect(statSync(keptFile(snapshot, 1))).toMatchObject({ ino, mtimeMs });
});

test("by default nothing is kept beside the present one", async () => {
  const { folder, publish } = aDir();
  await publish(1, 1);
  expect(await publish(2, 1)).toEqual([2]);
  expect(readdirSync(folder)).toEqual(["index.json"]);
});

test("a number is never given twice, also after every kept file is gone", async () => {
  const { folder, publish } = aDir();
  await publish(1);
  await publish(2);
  for (const name of readdirSync(folder)) if (name.endsWith(".duckdb")) rmSync(join(folder, name));
  expect(await publish(3)).toEqual([3, 2]);
});

test("a publish that was killed before or after the file changed leaves one that goes on", async () => {
  const { snapshot, folder, publish } = aDir();
  await publish(1);
  await publish(2);
  // Killed before the rename: the second name is there already.
  copyFileSync(snapshot, keptFile(snapshot, 2));
  expect((await keptSnapshots(snapshot)).map(({ n }) => n)).toEqual([2, 1]);
  expect(await publish(3)).toEqual([3, 2, 1]);
  expect(await signalsIn(keptFile(snapshot, 2))).toEqual([1, 2]);
  // Killed after the rename, before the note: the present file has no number, the one before has its second name.
  const before = readFileSync(join(folder, "index.json"));
  await publish(4);
  writeFileSync(join(folder, "index.json"), before);
  expect((await keptSnapshots(snapshot)).map(({ n }) => n)).toEqual([3, 2]);
  expect(await publish(5)).toEqual([4, 3, 2]);
  expect(await signalsIn(snapshot)).toEqual([1, 2, 3, 4, 5]);
});

test("a damaged list begins anew, and the files that nobody names any more go", async () => {
  const { snapshot, folder, publish } = aDir();
  await publish(1);
  await publish(2);
  renameSync(keptFile(snapshot, 1), keptFile(snapshot, 7));
  writeFileSync(join(folder, "index.json"), "{");
  expect(await keptSnapshots(snapshot)).toEqual([]);
  expect(await publish(3)).toEqual([1]);
  expect(existsSync(keptFile(snapshot, 7))).toBe(false);
});

test("an age counts from when the next snapshot replaced one; the present one has none", () => {
  const note = (n: number, at: number) => ({ n, at, position: n, bytes: 1, complete: true, file: String(n) });
  const all = [note(1, 0), note(2, HOUR_MS), note(3, 2 * HOUR_MS)];
  const left = (ageMs: number | null, count: number, now: number) =>
    staying(all, { count, ageMs }, now).map(({ n }) => n);
  expect(left(HOUR_MS, 10, 2 * HOUR_MS)).toEqual([1, 2, 3]);
  expect(left(HOUR_MS, 10, 2 * HOUR_MS + 1)).toEqual([2, 3]);
  expect(left(HOUR_MS, 10, 99 * HOUR_MS)).toEqual([3]);
  expect(left(null, 2, 99 * HOUR_MS)).toEqual([2, 3]);
  expect(staying(all, null, 99 * HOUR_MS)).toEqual(all);
});
