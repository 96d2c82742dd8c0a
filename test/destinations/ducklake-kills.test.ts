// Deliveries to lakes that are killed at random moments, and lakes that are read meanwhile.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { runWell } from "../clients/programs.ts";
import { seededRandom } from "../support/sync-rig.ts";
import { aFolder, type Catalog, catalogUrl, deliver, differences, withReader } from "./a-lake.ts";
import { change, commitSignals, move } from "./moving-mirror.ts";

const KILLS = Number(process.env.KILLS ?? "20");

/** `duckmirror deliver` in a process group of its own, so that both of its processes can be killed at once. */
const startDelivery = (dataDir: string, at: string, url: string) => {
  const one = { name: "lake", kind: "ducklake", url, extension_directory: inject("extensions") };
  return spawn(process.execPath, [inject("builtCli"), "deliver", "--data-dir", dataDir], {
    cwd: at,
    env: { PATH: process.env.PATH, HOME: at, DUCKMIRROR_DESTINATIONS: JSON.stringify([one]) },
    stdio: "ignore",
    detached: true,
  });
};

/** The other process ends with the killed one, a moment later; until then it holds its locks. */
const eventually = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === 40 || !/lock/i.test(String(error))) throw error;
      await sleep(100);
    }
  }
};

test.each<Catalog>(["sqlite", "duckdb"])(
  "%s: killed at random moments, the lake equals the snapshot before or after, and catches up",
  async (catalog) => {
    const [dataDir, at, before] = [aFolder(), aFolder(), aFolder()];
    const url = catalogUrl(catalog);
    const random = seededRandom(catalog.length);
    await move(dataDir, random);
    await deliver({ dataDir, at, url });
    let kills = 0;
    while (kills < KILLS / 2) {
      copyFileSync(join(dataDir, "warehouse.duckdb"), join(before, "warehouse.duckdb"));
      await move(dataDir, random);
      const child = startDelivery(dataDir, at, url);
      const ended = once(child, "exit");
      await Promise.race([ended, sleep(400 + random() * 2_600)]);
      if (child.exitCode === null) {
        kills += 1;
        // The program alone, or both processes.
        process.kill(random() < 0.5 && child.pid !== undefined ? child.pid : -(child.pid ?? 0), "SIGKILL");
      }
      await ended;
      const isAt = async (folder: string) =>
        Object.keys(await eventually(() => differences(folder, at, url))).length === 0;
      const left = await eventually(() => differences(dataDir, at, url));
      if (Object.keys(left).length > 0 && !(await isAt(before))) expect(left).toEqual({});
      await eventually(() => deliver({ dataDir, at, url }));
      expect(await differences(dataDir, at, url)).toEqual({});
    }
  },
);

const readings = z.object({
  seen: z.array(z.tuple([z.number(), z.number(), z.number()])),
  failed: z.array(z.string()),
});

test("20 readers in Python see the lake as it was before or after each delivery, never between", async () => {
  const [dataDir, at] = [aFolder(), aFolder()];
  const random = seededRandom(11);
  const wanted = new Map<number, string>();
  const note = () =>
    withReader(at, async (run) => {
      const [row] = await run(
        "SELECT (SELECT n FROM lake.main._duckmirror) AS n, count(*) AS rows, sum(id) AS ids FROM lake.main.signals",
      );
      wanted.set(Number(row?.n), `${row?.rows} ${row?.ids}`);
    });
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 500, random));
  await deliver({ dataDir, at });
  await note();
  const stop = join(at, "stop");
  const argv = [join(import.meta.dirname, "read_lake.py"), `ducklake:sqlite:${join(at, "lake/catalog.sqlite")}`];
  const env = { PYTHONPATH: inject("duckdbForLakes") };
  const reading = runWell("python3", [...argv, inject("extensions"), stop], { env });
  for (let step = 0; step < 8; step += 1) {
    await change(dataDir, async (warehouse) => {
      await commitSignals(warehouse, Math.floor(random() * 1_000), 100, random);
      const ids = Array.from({ length: 5 }, (_, nth) => String(1 + step * 5 + nth));
      await warehouse.deleteKeys({ table: "signals", ids, runId: "r", now: Date.now() }).catch(() => undefined);
    });
    await eventually(() => deliver({ dataDir, at }));
    await note();
  }
  writeFileSync(stop, "");
  const { seen, failed } = readings.parse(JSON.parse(await reading));
  expect(failed).toEqual([]);
  expect(seen.length).toBeGreaterThan(1);
  for (const [n, rows, ids] of seen) expect([n, `${rows} ${ids}`]).toEqual([n, wanted.get(n)]);
});
