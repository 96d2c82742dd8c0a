// The snapshot as the server holds it: one version at a time, figures once per version, closed when nobody looks.
import { mkdtempSync, readdirSync, readlinkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { openSnapshots, perSnapshot, type Snapshot } from "../../../../src/server/snapshots/snapshot.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "duckmirror-snapshot-"));
  path = join(folder, "warehouse.duckdb");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Publishes a file that holds one number, as the program does: by renaming it into place. */
const publish = async (value: number): Promise<void> => {
  const next = join(folder, `next-${value}.duckdb`);
  const database = await openDatabase(next);
  await database.run(`CREATE TABLE number AS SELECT ${value} AS value`);
  await database.flushWal();
  await database.close();
  renameSync(next, path);
};

const valueIn = async (snapshot: Snapshot): Promise<number> => {
  const rows = await snapshot.query("SELECT value FROM number", [], z.object({ value: z.number() }));
  return rows[0]?.value ?? Number.NaN;
};

test("a reader keeps its version to its end, the next one gets the new one, and figures are computed once for each", async () => {
  const source = openSnapshots(path);
  expect(source.version()).toBeNull();
  await expect(source.use(valueIn)).rejects.toMatchObject({ code: "SNAPSHOT_MISSING" });
  await publish(1);
  let computed = 0;
  const figure = perSnapshot(async (snapshot) => {
    computed += 1;
    return valueIn(snapshot);
  });
  await source.use(async (snapshot) => {
    expect(await figure(snapshot)).toBe(1);
    await publish(2);
    expect(await source.use(figure)).toBe(2);
    expect(await valueIn(snapshot)).toBe(1);
  });
  expect(await Promise.all([source.use(figure), source.use(figure)])).toEqual([2, 2]);
  expect(computed).toBe(2);
  await source.close();
});

test("a figure that failed is computed again", async () => {
  await publish(1);
  const source = openSnapshots(path);
  let attempts = 0;
  const figure = perSnapshot(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error("not this time");
    return attempts;
  });
  await expect(source.use(figure)).rejects.toThrow("not this time");
  expect(await source.use(figure)).toBe(2);
  await source.close();
});

test("a file that nobody reads is closed, its figures stay, and it opens again", async () => {
  const isOpen = (): boolean =>
    readdirSync("/proc/self/fd").some((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === path;
      } catch {
        return false;
      }
    });
  await publish(1);
  const source = openSnapshots(path, 1);
  let computed = 0;
  const figure = perSnapshot(async (snapshot) => {
    computed += 1;
    return valueIn(snapshot);
  });
  await source.use(async (snapshot) => {
    expect(await figure(snapshot)).toBe(1);
    expect(isOpen()).toBe(true);
  });
  await expect.poll(isOpen).toBe(false);
  expect(await source.use(figure)).toBe(1);
  expect([computed, isOpen()]).toEqual([1, false]);
  expect(await source.use(valueIn)).toBe(1);
  await source.close();
  expect(isOpen()).toBe(false);
  await expect(source.use(valueIn)).rejects.toMatchObject({ code: "SNAPSHOT_MISSING" });
});

test("what is no database is named as such, and a good one after it is read", async () => {
  writeFileSync(path, "this is no database");
  const source = openSnapshots(path);
  await expect(source.use(valueIn)).rejects.toMatchObject({ code: "SNAPSHOT_DAMAGED" });
  await publish(7);
  expect(await source.use(valueIn)).toBe(7);
  await source.close();
});
