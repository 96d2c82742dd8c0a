// Data directories without a mirror. Of one that never had any, a plan reads an empty mirror in memory. A mirror that vanished while a worker
// lives is not made anew: `guard` throws MIRROR_GONE, because a new one would pay for every row again.
import { statSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { openDatabase } from "../duckdb/database.ts";
import { type MirrorReader, mirrorReader } from "../read/mirror-reader.ts";
import { migrate } from "./migrate.ts";
import { warehousePaths } from "./working-file.ts";

/** True when no sync has started in the directory, and no mirror was put there. */
export const isUnused = (dataDir: string): boolean => {
  const { working, archiveDir, snapshot } = warehousePaths(dataDir);
  return [working, archiveDir, snapshot].every((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
};

/** Runs `work` on an empty mirror in memory: every table, no row. Creates nothing on disk. `now`: ms since the epoch. */
export const readEmptyMirror = async <T>(now: number, work: (reader: MirrorReader) => Promise<T>): Promise<T> => {
  const database = await openDatabase(":memory:", { threads: 1 });
  try {
    await migrate(database, now);
    return await work(mirrorReader(database));
  } finally {
    await database.close();
  }
};

// Mirrors that a worker has seen. One that vanishes while the worker lives (deleted, or its volume unmounted) is not made
// anew: that would pay for every row again without anybody having asked for it.

const LOOK_EVERY_MS = 60_000;

interface Ended {
  /** null: all is done. */
  readonly error: DuckmirrorError | null;
}

export interface SeenMirrors {
  /**
   * Runs `work` on the mirror in `dataDir`. Throws MIRROR_GONE before it if the files of a mirror that was seen are gone;
   * after it, puts MIRROR_GONE in place of its error.
   */
  guard<T extends Ended>(dataDir: string, work: () => Promise<T>): Promise<T>;
}

interface Looking extends SeenMirrors {
  /** Notes which of these directories hold a mirror now. */
  look(dataDirs: readonly string[]): void;
}

/** Whether the directory holds a mirror; null: the file system does not say, as a volume that is away for a moment. */
const holdsMirror = (dir: string): boolean | null => {
  try {
    return !isUnused(dir);
  } catch {
    return null;
  }
};

export const createSeenMirrors = (): Looking => {
  const seen = new Set<string>();
  const look = (dataDirs: readonly string[]) => {
    for (const dir of dataDirs) if (holdsMirror(dir) === true) seen.add(dir);
  };
  const isGone = (dir: string) => seen.has(dir) && holdsMirror(dir) === false;
  const gone = (dir: string, cause?: unknown) => new DuckmirrorError("MIRROR_GONE", { dir }, { cause });
  return {
    look,
    guard: async (dataDir, work) => {
      if (isGone(dataDir)) throw gone(dataDir);
      try {
        const result = await work();
        return result.error !== null && isGone(dataDir) ? { ...result, error: gone(dataDir, result.error) } : result;
      } catch (error) {
        throw isGone(dataDir) ? gone(dataDir, error) : error;
      } finally {
        look([dataDir]);
      }
    },
  };
};

/** Looks at the directories now and every minute, because other processes make mirrors, too. */
export const watchMirrors = (
  dataDirs: readonly string[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): SeenMirrors => {
  const mirrors = createSeenMirrors();
  const keepChecking = async () => {
    while (!signal.aborted) {
      mirrors.look(dataDirs);
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    }
  };
  void keepChecking();
  return mirrors;
};
