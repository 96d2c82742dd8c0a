// Which files of the archive stay: those of runs under way, and everything when a copy could not be made.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ArchiveLimits, keepWithinLimits } from "../../../../../src/warehouse/file/baseline/archive-limits.ts";
import { baselineDir, makeBaseline, readBaseline } from "../../../../../src/warehouse/file/baseline/baseline.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse } from "../../builders.ts";
import { tempDir } from "../../temp-dir.ts";

const DAY_MS = 86_400_000;
const LIMITS = { days: 5, bytes: null };

/** A published mirror whose archive has files of two old runs and an old journal besides its own. */
const anOldMirror = async (limits: ArchiveLimits = LIMITS) => {
  const dataDir = tempDir();
  const warehouse = await aWarehouse(dataDir);
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1)])]));
  await warehouse.publish();
  const state = join(dataDir, "state");
  const folder = join(warehouse.archiveDir, "2026-01");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const old = [
    "20260101T000000Z-aaaaaa.ndjson.gz",
    "20260101T000000Z-aaaaaa.2.intents.ndjson",
    "named-by-caller.ndjson.gz",
  ];
  for (const name of old) {
    writeFileSync(join(folder, name), "");
    utimesSync(join(folder, name), 0, 0);
  }
  const keep = (openRuns: readonly string[]) =>
    keepWithinLimits(
      {
        archiveDir: warehouse.archiveDir,
        snapshot: warehouse.snapshot,
        openRuns: async () => new Set(openRuns),
        now: Date.now(),
      },
      limits,
    );
  return { state, folder, old, warehouse, keep };
};

test("old files go, also of runs that a caller named, and so does their folder", async () => {
  const { state, folder, old, keep } = await anOldMirror();
  expect(await keep([])).toEqual({ files: old.length, bytes: 0, newBaseline: true });
  expect(existsSync(folder)).toBe(false);
  expect(await readBaseline(state)).toMatchObject({ bytes: expect.any(Number) });
});

test("a limit of the mirror's size is passed by a tenth before anything is removed", async () => {
  const { folder, old, keep } = await anOldMirror({ days: null, bytes: "mirror" });
  const large = join(folder, old[0] ?? "");
  const MiB = 1024 * 1024;
  // A hole of this size: it takes no space on the disk.
  truncateSync(large, 270 * MiB);
  expect(await keep([])).toEqual({ files: 0, bytes: 0, newBaseline: false });
  truncateSync(large, 290 * MiB);
  expect(await keep([])).toMatchObject({ newBaseline: true });
  expect(existsSync(large)).toBe(false);
});

test("files of runs that have not ended stay, whatever their age", async () => {
  const { folder, keep } = await anOldMirror();
  expect(await keep(["20260101T000000Z-aaaaaa"])).toMatchObject({ files: 1 });
  expect(readdirSync(folder)).toHaveLength(2);
});

test("without a sound copy nothing is removed", async () => {
  const { state, folder, old, warehouse, keep } = await anOldMirror();
  const { size } = statSync(warehouse.snapshot);
  const bytes = Buffer.alloc(4096, 7);
  const handle = openSync(warehouse.snapshot, "r+");
  for (let at = 12_288; at < size; at += 8192) writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
  await expect(keep([])).rejects.toThrow();
  expect(readdirSync(folder).sort()).toEqual([...old].sort());
  expect(await readBaseline(state)).toBe(null);
});

test("a copy that a killed process left, noted or not, is replaced", async () => {
  const { state, warehouse } = await anOldMirror();
  const folder = baselineDir(state);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, "000000000001-1.duckdb"), "a copy without a note");
  writeFileSync(join(folder, "000000000002-2.duckdb.new"), "half a copy");
  expect(await readBaseline(state)).toBe(null);
  const made = await makeBaseline(state, warehouse.snapshot, Date.now() - DAY_MS);
  expect(readdirSync(folder).sort()).toEqual([made.file, "baseline.json"].sort());
});
