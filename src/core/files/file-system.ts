// Differences between systems in how a file or folder is flushed, and in moving a file over another that a reader has
// open. Node hides other differences (rights, links), or own-files.ts leaves them out.
import { constants } from "node:fs";
import { open, rename } from "node:fs/promises";
import { platform } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { hasSystemCode } from "../errors.ts";

interface FileSystem {
  /** Flushes a file, or the entries of a folder, to disk. Throws the system's error. */
  flushToDisk(path: string): Promise<void>;
  /** Moves a file over another; a reader of the old one keeps it. Throws the system's error. */
  moveOver(from: string, to: string): Promise<void>;
}

/** Effects, replaced in tests. */
interface Effects {
  readonly rename: typeof rename;
  readonly sleep: (ms: number) => Promise<unknown>;
}

const flushAs = async (path: string, flags: number): Promise<void> => {
  const handle = await open(path, flags);
  await handle.sync().finally(() => handle.close());
};

/** What Windows says of a file that somebody has open without sharing it. */
const IN_USE = ["EPERM", "EACCES", "EBUSY"];
/** 10 s in all: a query of a reader ends, a program that keeps the file open does not. */
const WAITS_MS = [50, 100, 250, 600, 1000, 2000, 3000, 3000];

const windows = (effects: Effects): FileSystem => ({
  // It flushes only what may be written, and no folder: that of a renamed file is flushed with the volume's own journal.
  flushToDisk: (path) =>
    flushAs(path, constants.O_RDWR).catch((error: unknown) => {
      if (!hasSystemCode(error, "EISDIR", "EPERM", "EACCES")) throw error;
    }),
  moveOver: async (from, to) => {
    for (const waitMs of WAITS_MS) {
      try {
        return await effects.rename(from, to);
      } catch (error) {
        if (!hasSystemCode(error, ...IN_USE)) throw error;
        await effects.sleep(waitMs);
      }
    }
    return effects.rename(from, to);
  },
});

const posix = (effects: Effects): FileSystem => ({
  // A pipe in its place must not be waited for. A data directory may be a link, because the user named it.
  flushToDisk: (path) => flushAs(path, constants.O_RDONLY | constants.O_NONBLOCK),
  moveOver: effects.rename,
});

export const fileSystemOf = (system: NodeJS.Platform, effects: Effects = { rename, sleep }): FileSystem =>
  system === "win32" ? windows(effects) : posix(effects);

export const { flushToDisk, moveOver } = fileSystemOf(platform());
