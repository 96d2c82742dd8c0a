// Takes a mirror from its home (deliver/home: object storage that several machines share) before a job reads or writes it, and opens its
// warehouse.
import { existsSync } from "node:fs";
import { type Clock, systemClock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { isCode } from "../src/core/errors.ts";
import { type Home, hadHome, mirrorHome, noHome } from "../src/deliver/home/mirror-home.ts";
import { isUnused } from "../src/warehouse/file/empty-mirror.ts";
import { openWarehouse, type Warehouse } from "../src/warehouse/file/warehouse.ts";
import { enterDataDir, enterMirror, warehousePaths } from "../src/warehouse/file/working-file.ts";
import { tableStrictness } from "../src/warehouse/record/normalize-record.ts";

type Housed = Pick<Config, "dataDir" | "home" | "azure">;

/** The home of the configuration; undefined: none, and there was none. */
export const homeOf = ({ dataDir, home: url, azure }: Housed, clock: Pick<Clock, "now">): Home | undefined => {
  if (url !== null) return mirrorHome({ url, dataDir, azure, clock });
  return hadHome(dataDir) ? noHome(dataDir) : undefined;
};

/** Runs `work` on the opened mirror. Throws the errors of opening it, and those of `work`. */
export const withWarehouse = async <T>(
  options: Parameters<typeof openWarehouse>[0],
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> => {
  const warehouse = await openWarehouse(options);
  try {
    return await work(warehouse);
  } finally {
    await warehouse.close();
  }
};

/** How a job opens the mirror to write it. */
export const writingOptions = (config: Config, clock: Clock) => ({
  dataDir: config.dataDir,
  clock,
  memory: config.memory,
  keepSnapshots: config.keepSnapshots,
  checks: config.checks,
  home: homeOf(config, clock),
  auditRetentionDays: config.audit.retentionDays,
  strictness: tableStrictness(config.strictness),
});

/** Runs `work`, which may bring a mirror to the directory; true: none was here, and none is. */
const isStillUnused = async (dataDir: string, work: () => Promise<void>): Promise<boolean> => {
  // Before it: taking the lock makes folders.
  const wasUnused = isUnused(dataDir);
  await work();
  return wasUnused && !existsSync(warehousePaths(dataDir).working);
};

/** Takes the mirror before anything of it is read; true: there is none, here and there. Throws WRITER_BUSY, HOME_*. */
export const enterHome = (config: Housed, clock: Pick<Clock, "now">): Promise<boolean> =>
  isStillUnused(config.dataDir, async () => {
    const home = homeOf(config, clock);
    if (home === undefined) return;
    const lock = await enterMirror({ dataDir: config.dataDir, home });
    await lock.release();
  });

/**
 * Brings a snapshot that is as new as the home's, without taking the mirror, for work that reads it. Where a sync runs here, its
 * snapshot is. True: there is no mirror, here and there. Throws HOME_*.
 */
export const followHome = (
  config: Housed & Pick<Config, "memory" | "keepSnapshots" | "checks">,
  clock: Pick<Clock, "now">,
): Promise<boolean> =>
  isStillUnused(config.dataDir, async () => {
    const { dataDir, memory, keepSnapshots, checks } = config;
    const home = homeOf(config, clock);
    if (home === undefined) return;
    try {
      const lock = await enterDataDir(dataDir);
      const isNew = await home.follow().finally(() => lock.release());
      if (!isNew) return;
      const opening = { dataDir, clock: { ...systemClock, now: clock.now }, memory, keepSnapshots, checks };
      await withWarehouse(opening, (warehouse) => warehouse.publish());
    } catch (error) {
      // The checks of a state that the holder did not publish either keep the snapshot that is here.
      if (!isCode(error, "WRITER_BUSY") && !isCode(error, "CHECK_FAILED")) throw error;
    }
  });
