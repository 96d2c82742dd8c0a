// State file with the progress of a running sync, so that `serve` and its page can show a sync of another process. The sync rewrites it
// every two seconds and removes it at its end; an older file is left by a killed sync.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import {
  type ProgressSink,
  progressAfter,
  progressAtStart,
  type SyncProgress,
  syncProgress,
} from "../report/sync-progress.ts";
import { readNote, writeNote } from "./shared-file.ts";

const WRITE_MS = 2_000;
/** A file without a sign of life for this long is nobody's any more. */
const DEAD_MS = 60_000;

const fileOf = (dataDir: string) => ({ path: join(dataDir, "state", "sync-progress.json"), schema: syncProgress });

export interface NotedProgress {
  /** Passes events on, and counts them. */
  readonly emit: ProgressSink;
  /** From now on the file is there. */
  begin(): void;
  /** Removes the file. */
  end(): Promise<void>;
}

/** What a sync does is noted for others. A file that cannot be written is no fault of the sync: nothing is said. */
export const noteProgress = (dataDir: string, clock: Pick<Clock, "now">, emit: ProgressSink): NotedProgress => {
  const file = fileOf(dataDir);
  let progress = progressAtStart(clock.now());
  let writing: Promise<unknown> = Promise.resolve();
  let timer: ReturnType<typeof setInterval> | null = null;
  const write = () => {
    const noted = { ...progress, heartbeat_at: clock.now() };
    writing = writing.then(() => writeNote(file, noted)).catch(() => undefined);
  };
  return {
    emit: (event) => {
      progress = progressAfter(progress, event);
      emit(event);
    },
    begin: () => {
      timer = setInterval(write, WRITE_MS);
      timer.unref();
    },
    end: async () => {
      if (timer !== null) clearInterval(timer);
      await writing;
      await rm(file.path, { force: true }).catch(() => undefined);
    },
  };
};

/** Progress of the sync that runs on a data directory; null: none runs. */
export const readProgress = async (dataDir: string, now: number): Promise<SyncProgress | null> => {
  const progress = await readNote(fileOf(dataDir)).catch(() => null);
  return progress !== null && now - progress.heartbeat_at < DEAD_MS ? progress : null;
};
