// Global setup: everything the tests write to the temporary folder lands in one folder of this run, which goes with it.
// A run that was killed leaves its folder behind; the next run removes it.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
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

/** Workers inherit TMPDIR. Each project of the configuration calls this; the first call makes the folder. */
export default (): (() => void) => {
  const parent = tmpdir();
  const folder = join(parent, `${RUN_FOLDER}${process.pid}`);
  if (basename(parent) === basename(folder)) return () => undefined;
  removeAbandoned(parent);
  mkdirSync(folder, { recursive: true });
  process.env.TMPDIR = folder;
  process.once("exit", () => remove(folder));
  return () => remove(folder);
};
