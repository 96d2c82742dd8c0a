// A mirror's home as the jobs use it.
import { type Clock, systemClock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { isCode } from "../src/core/errors.ts";
import { type Home, mirrorHome } from "../src/deliver/home/mirror-home.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import { enterDataDir, enterMirror } from "../src/warehouse/file/working-file.ts";

type Housed = Pick<Config, "dataDir" | "home" | "azure">;

/** The home of the configuration; undefined: none. */
export const homeOf = ({ dataDir, home: url, azure }: Housed, clock: Pick<Clock, "now">): Home | undefined =>
  url === null ? undefined : mirrorHome({ url, dataDir, azure, clock });

/** Takes the mirror before anything of it is read. Throws WRITER_BUSY, HOME_*. */
export const enterHome = async (config: Housed, clock: Pick<Clock, "now">): Promise<void> => {
  const home = homeOf(config, clock);
  if (home === undefined) return;
  const lock = await enterMirror({ dataDir: config.dataDir, home });
  await lock.release();
};

/**
 * Brings a snapshot that is as new as the home's, without taking the mirror, for work that reads it. Where a sync runs here, its
 * snapshot is. Throws HOME_*.
 */
export const followHome = async (
  config: Housed & Pick<Config, "memory" | "keepSnapshots" | "checks">,
  clock: Pick<Clock, "now">,
): Promise<void> => {
  const { dataDir, memory, keepSnapshots, checks } = config;
  const home = homeOf(config, clock);
  if (home === undefined) return;
  try {
    const lock = await enterDataDir(dataDir);
    const isNew = await home.follow().finally(() => lock.release());
    if (!isNew) return;
    const warehouse = await openWarehouse({
      dataDir,
      clock: { ...systemClock, now: clock.now },
      memory,
      keepSnapshots,
      checks,
    });
    await warehouse.publish().finally(() => warehouse.close());
  } catch (error) {
    // The checks of a state that the holder did not publish either keep the snapshot that is here.
    if (!isCode(error, "WRITER_BUSY") && !isCode(error, "CHECK_FAILED")) throw error;
  }
};
