// All differences between operating systems: files, the shell, signals, the home folder, the fence of a user's SQL. Node hides others (path
// separators, modes, priorities). Tests pass the system; the program uses its own.
import { constants } from "node:fs";
import { open, rename } from "node:fs/promises";
import { platform } from "node:os";
import { posix as posixPath, win32 as windowsPath } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasSystemCode } from "./errors.ts";

/** A program with its arguments. `verbatim`: Windows gets them as they are, without quotes of Node's. */
interface Program {
  readonly file: string;
  readonly argv: readonly string[];
  readonly verbatim: boolean;
}

interface System {
  readonly platform: NodeJS.Platform;
  /** Flushes a file, or the entries of a folder, to disk. Throws the system's error. */
  flushToDisk(path: string): Promise<void>;
  /** Moves a file or folder, over another file if one has the name; a reader of the old one keeps it. Throws the system's error. */
  moveOver(from: string, to: string): Promise<void>;
  /** Flags for opening a file: no pipe is waited for; no link is followed. */
  readonly flags: { readonly noWait: number; readonly noLink: number };
  /** The program of a command: a list needs no shell, a text is read by the system's own. */
  programOf(command: string | readonly string[]): Program;
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

const listed = ([file = "", ...argv]: readonly string[]): Program => ({ file, argv, verbatim: false });

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
  // It has neither.
  flags: { noWait: 0, noLink: 0 },
  programOf: (command) =>
    typeof command === "string"
      ? { file: "cmd.exe", argv: ["/d", "/s", "/c", `"${command}"`], verbatim: true }
      : listed(command),
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
  flags: { noWait: constants.O_NONBLOCK, noLink: constants.O_NOFOLLOW },
  programOf: (command) =>
    typeof command === "string" ? { file: "/bin/sh", argv: ["-c", command], verbatim: false } : listed(command),
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
