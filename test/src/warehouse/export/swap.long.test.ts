// A set of exported files is replaced as a whole. Shows P28.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { exportSnapshot } from "../../../../src/warehouse/export/export.ts";
import { type Manifest, readManifest } from "../../../../src/warehouse/export/manifest.ts";
import { recoverSwap, stagingDir } from "../../../../src/warehouse/export/swap.ts";
import { startExportChild } from "../child.ts";
import { anExport, filesIn, sha256, someSignals } from "../export-set.ts";
import { readWithHyparquet } from "../parquet-readers.ts";
import { tempDir } from "../temp-dir.ts";

const versionRow = z.object({ version: z.string(), n: z.number() });

/** Versions the rows of a file have: a whole file has one. */
const versionsIn = async (file: string, column: string) => {
  const { rows } = await readWithHyparquet(file);
  return [...new Set(rows.map((row) => row[column]))];
};

const matches = (dir: string, manifest: Manifest | null) =>
  manifest?.files.every(({ file, sha256: sum }) => existsSync(join(dir, file)) && sha256(join(dir, file)) === sum);

test("kill -9 at any moment of an export leaves whole files, and the next start makes it one set again", async () => {
  const root = tempDir();
  const dir = join(root, "export");
  const seed = 20_250_601;
  const ticks = fc.sample(fc.integer({ min: 0, max: 80_000 }), { numRuns: 10, seed });
  let next = 0;
  for (const wait of ticks) {
    const child = startExportChild(root, String(next));
    expect(await child.next()).toBe("open");
    let line = await child.next();
    if (next === 0) line = await child.next();
    // Some turns of the loop from the start of an export on: the kill meets it at a different place each time.
    for (let turn = 0; turn < wait; turn++) await new Promise((resolve) => setImmediate(resolve));
    await child.kill();
    next += 3;
    expect(line, `seed ${seed}`).not.toBeNull();

    for (const file of filesIn(dir)) {
      expect(await versionsIn(join(dir, file), file.startsWith("signals") ? "headline" : "name")).toHaveLength(1);
    }
    await recoverSwap(dir);
    const manifest = await readManifest(dir);
    if (manifest === null) continue;
    expect(matches(dir, manifest), `after ${wait} turns, seed ${seed}`).toBe(true);
    expect([...manifest.files.map(({ file }) => file)].sort()).toEqual(filesIn(dir));
    const versions = await Promise.all(
      filesIn(dir).map((file) => versionsIn(join(dir, file), file.startsWith("signals") ? "headline" : "name")),
    );
    expect(new Set(versions.flat()).size).toBe(1);
    expect(existsSync(stagingDir(dir))).toBe(false);
  }
  const snapshot = join(root, "warehouse.duckdb");
  const database = await openDatabase(snapshot, { readOnly: true });
  const expected = await database.query(
    "SELECT headline AS version, count(*) AS n FROM signals GROUP BY 1",
    [],
    versionRow,
  );
  await database.close();
  await exportSnapshot({ snapshot, dir, format: "parquet", tables: [], since: null, guardFormulas: false });
  const versions = await Promise.all(
    filesIn(dir)
      .filter((file) => file.startsWith("signals"))
      .map((file) => versionsIn(join(dir, file), "headline")),
  );
  expect([...new Set(versions.flat())]).toEqual(expected.map(({ version }) => version));
});

test("readers that list and read the folder all the while meet whole files of one version only", async () => {
  const root = tempDir();
  const dir = join(root, "export");
  const child = startExportChild(root, "0");
  while ((await child.next()) !== "0");
  let reads = 0;
  const seen = new Set<unknown>();
  let last = 0;
  const reading = (async () => {
    while (last < 12) {
      const versions = await versionsIn(join(dir, "accounts/accounts.parquet"), "name");
      expect(versions).toHaveLength(1);
      for (const version of versions) seen.add(version);
      const months = filesIn(dir).filter((file) => file.startsWith("signals"));
      // A month that is gone belongs to the one signal that moves from year to year.
      expect(months.filter((file) => file.includes("=2024-"))).toHaveLength(12);
      for (const file of months.filter((each) => each.includes("=2024-"))) {
        expect(await versionsIn(join(dir, file), "headline")).toHaveLength(1);
      }
      reads += 1;
      // Reading never waits: without a turn of the loop the exporter's lines would not be heard.
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  while (last < 12) {
    const line = await child.next();
    if (line !== null && /^\d+$/.test(line)) last = Number(line);
  }
  await reading;
  await child.kill();
  expect(reads).toBeGreaterThan(3);
  expect(seen.size).toBeGreaterThan(1);
});

test("a set that was complete when the process died is put into place, one that was not is thrown away", async () => {
  const set = await anExport(someSignals({ 1: "2025-01-05", 2: "2025-02-05" }));
  await set.run({ tables: ["signals"] });
  const manifest = await set.manifest();
  const [january, february] = manifest.files;
  if (january === undefined || february === undefined) throw new Error("two files were expected");
  const staging = stagingDir(set.dir);

  mkdirSync(staging);
  writeFileSync(join(staging, "0.part"), "half a file");
  expect(await recoverSwap(set.dir)).toBe("discarded");
  expect(matches(set.dir, manifest)).toBe(true);

  // Killed after the plan and after the first of two renames.
  mkdirSync(staging);
  writeFileSync(join(staging, "1.part"), readFileSync(join(set.dir, february.file)));
  rmSync(join(set.dir, february.file));
  const plan = {
    manifest: { ...manifest, run: "after" },
    moves: [
      { from: "0.part", to: january.file },
      { from: "1.part", to: february.file },
    ],
    removals: ["signals/year_month=2020-01/signals.parquet"],
  };
  writeFileSync(join(staging, "plan.json"), JSON.stringify(plan));
  expect(await recoverSwap(set.dir)).toBe("finished");
  expect((await set.manifest()).run).toBe("after");
  expect(matches(set.dir, manifest)).toBe(true);
  expect(await recoverSwap(set.dir)).toBe("nothing");
});

test("a plan that leads out of the folder is refused", async () => {
  const set = await anExport("");
  await set.run({ tables: ["accounts"] });
  const staging = stagingDir(set.dir);
  mkdirSync(staging);
  const plan = { manifest: await set.manifest(), moves: [{ from: "0.part", to: "../../outside" }], removals: [] };
  writeFileSync(join(staging, "plan.json"), JSON.stringify(plan));
  await expect(recoverSwap(set.dir)).rejects.toThrow(/leads out of the folder/);
});
