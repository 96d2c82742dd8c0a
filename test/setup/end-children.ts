// Setup of every test file: when its process ends, however that comes about, the processes that it started end too.
import { readdirSync, readFileSync } from "node:fs";

/** Parent of each running process; empty where there is no /proc. */
const parents = (): ReadonlyMap<number, number> => {
  const found = new Map<number, number>();
  const pids = () => {
    try {
      return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    } catch {
      return [];
    }
  };
  for (const pid of pids()) {
    try {
      // "pid (name) state parent ...": the name may hold spaces and brackets.
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
      found.set(Number(pid), Number(parent));
    } catch {
      // It ended meanwhile.
    }
  }
  return found;
};

const endDescendants = (of: number, tree = parents()): void => {
  for (const [pid, parent] of tree) {
    if (parent !== of) continue;
    endDescendants(pid, tree);
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended meanwhile.
    }
  }
};

/** One listener per process: files may share one. */
const MARK = Symbol.for("duckmirror.tests.endChildren");

if (!Reflect.has(globalThis, MARK)) {
  Reflect.set(globalThis, MARK, true);
  process.once("exit", () => endDescendants(process.pid));
  // The test runner is gone: nobody waits for this process any more.
  process.once("disconnect", () => process.exit(1));
}
