// All differences between operating systems that the program must know: files, signals, the home folder, the fence of a user's SQL. Tests
// pass another system; the program uses its own.
import { constants } from "node:fs";
import { open, rename } from "node:fs/promises";
import { platform } from "node:os";
import { posix as posixPath, win32 as windowsPath } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasSystemCode } from "./errors.ts";

interface System {
  readonly platform: NodeJS.Platform;
  /** Flushes a file, or the entries of a folder, to disk. Throws the system's error. */
  flushToDisk(path: string): Promise<void>;
  /** Moves a file or folder, over another file if one has the name; a reader of the old one keeps it. Throws the system's error. */
  moveOver(from: string, to: string): Promise<void>;
  /** Whether a new file could not be made because another process has one of its name. */
  isTaken(error: unknown): boolean;
  /** Flags for opening a file: no pipe is waited for; no link is followed. */
  readonly flags: { readonly noWait: number; readonly noLink: number };
  /** Signals that ask the program to end. */
  readonly stopSignals: readonly NodeJS.Signals[];
  /** Whether a child process gets a session of its own. */
  readonly hasSessions: boolean;
  /** Whether the kernel limits and fences the process of a user's SQL. */
  readonly hasFence: boolean;
  /** A path with the user's home folder in place of a leading `~`. */
  inHome(path: string, env: Readonly<Record<string, string | undefined>>): string;
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

/** Windows' codes for a file that somebody has open without sharing it. */
const IN_USE = ["EPERM", "EACCES", "EBUSY"];
/** 10 s in all: a query of a reader ends, a program that keeps the file open does not. */
const WAITS_MS = [50, 100, 250, 600, 1000, 2000, 3000, 3000];

const windows = (effects: Effects): System => ({
  platform: "win32",
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
  // A file of which another process still holds the removed one is refused as in use.
  isTaken: (error) => hasSystemCode(error, "EEXIST", ...IN_USE),
  // It has neither.
  flags: { noWait: 0, noLink: 0 },
  // SIGTERM ends a process there at once. SIGBREAK: Ctrl-Break, and what services send. SIGHUP: the window was closed.
  stopSignals: ["SIGINT", "SIGBREAK", "SIGHUP"],
  // A session of its own would open a window.
  hasSessions: false,
  hasFence: false,
  inHome: (path, { USERPROFILE }) =>
    USERPROFILE !== undefined && /^~([\\/]|$)/.test(path) ? windowsPath.join(USERPROFILE, path.slice(1)) : path,
});

const posix = (name: NodeJS.Platform, effects: Effects): System => ({
  platform: name,
  // A pipe in its place must not be waited for. A data directory may be a link, because the user named it.
  flushToDisk: (path) => flushAs(path, constants.O_RDONLY | constants.O_NONBLOCK),
  moveOver: effects.rename,
  isTaken: (error) => hasSystemCode(error, "EEXIST"),
  flags: { noWait: constants.O_NONBLOCK, noLink: constants.O_NOFOLLOW },
  // SIGHUP: the terminal was closed.
  stopSignals: ["SIGINT", "SIGTERM", "SIGHUP"],
  hasSessions: true,
  hasFence: name === "linux",
  inHome: (path, { HOME }) =>
    HOME !== undefined && /^~(\/|$)/.test(path) ? posixPath.join(HOME, path.slice(1)) : path,
});

export const systemOf = (name: NodeJS.Platform, effects: Effects = { rename, sleep }): System =>
  name === "win32" ? windows(effects) : posix(name, effects);

/** The system that the program runs on. */
export const system = systemOf(platform());
export const { flushToDisk, moveOver } = system;
