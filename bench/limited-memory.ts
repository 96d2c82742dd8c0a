// Runs the built command line on a machine with less memory: in a control group of Linux, which ends a process that wants
// more. The page cache counts, too, as it does on a small machine. Needs root, and cgroup version 1 or 2.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface MemoryLimit {
  /** Put before a command, it runs within the limit. */
  readonly prefix: readonly string[];
  /** How often the limit was reached, so that pages of files were dropped or a process was ended. */
  timesReached(): number;
  remove(): void;
}

const V1 = "/sys/fs/cgroup/memory";
const V2 = "/sys/fs/cgroup";

const isVersion1 = (): boolean => /^\S+ \/sys\/fs\/cgroup\/memory cgroup /m.test(readFileSync("/proc/mounts", "utf8"));

/** `bytes`: memory of everything that runs within the limit, page cache included; none of it is swapped. */
export const limitMemory = (bytes: number): MemoryLimit => {
  const one = isVersion1();
  const folder = join(one ? V1 : V2, `duckmirror-${process.pid}-${bytes}`);
  mkdirSync(folder);
  writeFileSync(join(folder, one ? "memory.limit_in_bytes" : "memory.max"), String(bytes));
  if (!one) writeFileSync(join(folder, "memory.swap.max"), "0");
  return {
    prefix: ["sh", "-c", `echo $$ > ${join(folder, "cgroup.procs")} && exec "$0" "$@"`],
    timesReached: () => {
      if (one) return Number(readFileSync(join(folder, "memory.failcnt"), "utf8"));
      return Number(/^max (\d+)$/m.exec(readFileSync(join(folder, "memory.events"), "utf8"))?.[1] ?? 0);
    },
    remove: () => rmdirSync(folder),
  };
};
