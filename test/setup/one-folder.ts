// Global setup: everything the tests write to the temporary folder lands in one folder of this run, which goes with it.
// A run that was killed leaves its folder behind; the next run removes it.
import { accessSync, constants, mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { basename, join } from "node:path";

/** How the name of a run's folder begins. */
export const RUN_FOLDER = "duckmirror-run-";

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** What a process that is about to end still writes to stays: the next run removes it. */
const remove = (folder: string): void => {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // Not empty after all.
  }
};

const removeAbandoned = (parent: string): void => {
  for (const name of readdirSync(parent)) {
    const pid = Number(name.slice(RUN_FOLDER.length));
    if (!name.startsWith(RUN_FOLDER) || !Number.isInteger(pid) || isRunning(pid)) continue;
    remove(join(parent, name));
  }
};

const GIB = 1024 ** 3;
const MEMORY = "/dev/shm";
/** A run of all tests leaves up to 2 GiB there until it ends. */
const ENOUGH_BYTES = 8 * GIB;

/** True where files can be kept in memory. There an fsync, of which each commit needs three, takes no time. */
const memoryIsRoomy = (): boolean => {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    // A container may have less memory than its machine.
    const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY;
    return Math.min(bavail * bsize, freemem(), limit) >= ENOUGH_BYTES;
  } catch {
    return false;
  }
};

/** Workers inherit TMPDIR. Each project of the configuration calls this; the first call makes the folder. */
export default (): (() => void) => {
  const name = `${RUN_FOLDER}${process.pid}`;
  if (basename(tmpdir()) === name) return () => undefined;
  const parent = memoryIsRoomy() ? MEMORY : tmpdir();
  const folder = join(parent, name);
  removeAbandoned(parent);
  mkdirSync(folder, { recursive: true });
  process.env.TMPDIR = folder;
  process.once("exit", () => remove(folder));
  return () => remove(folder);
};
