// Deliveries to lakes that are killed at random moments.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { seededRandom } from "../support/sync-rig.ts";
import { aFolder, type Catalog, catalogUrl, deliver, differences } from "./a-lake.ts";
import { move } from "./moving-mirror.ts";

const KILLS = Number(process.env.KILLS ?? "6");

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
    while (kills < KILLS / 3) {
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
