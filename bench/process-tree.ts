// What a program and every process that it starts use, read from Linux's /proc while they run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";

/** Linux counts processor time in hundredths of a second, and memory in pages of 4 KiB. */
const TICK_MS = 10;
const PAGE_MIB = 4 / 1024;
const SAMPLE_MS = 100;

interface Sample {
  readonly parent: number;
  readonly cpuMs: number;
  /** Of its children that have ended. */
  readonly endedMs: number;
  readonly mib: number;
}

const sampleOf = (pid: string): Sample | null => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const at = (nth: number) => Number(fields[nth]);
    const [cpuMs, endedMs] = [(at(11) + at(12)) * TICK_MS, (at(13) + at(14)) * TICK_MS];
    return { parent: at(1), cpuMs, endedMs, mib: at(21) * PAGE_MIB };
  } catch {
    return null;
  }
};

/** The process and its descendants. */
const treeOf = (root: number): ReadonlyMap<number, Sample> => {
  const all = new Map<number, Sample>();
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    const sample = sampleOf(name);
    if (sample !== null) all.set(Number(name), sample);
  }
  const isIn = (pid: number): boolean => pid === root || (pid > 1 && isIn(all.get(pid)?.parent ?? 0));
  return new Map([...all].filter(([pid]) => isIn(pid)));
};

/** Processor time that a process and its children have used since it started, ms. */
export const cpuOfTree = (root: number): number =>
  [...treeOf(root).values()].reduce((sum, { cpuMs, endedMs }) => sum + cpuMs + endedMs, 0);

/** Processor time of the children of this process that have ended, ms. */
export const cpuOfEnded = (): number => sampleOf("self")?.endedMs ?? 0;

export interface TreeRun {
  readonly ms: number;
  /** Of all processes. */
  readonly cpuMs: number;
  /** Most memory that they held together; pages that they share count once for each. */
  readonly peakMib: number;
  readonly out: string;
}

/** Runs a script of Node's to its end. Throws when it ends with anything but 0. */
export const runTree = async (
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<TreeRun> => {
  const start = performance.now();
  const child = spawn(process.execPath, argv, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const cpu = new Map<number, number>();
  let peakMib = 0;
  const sample = () => {
    const tree = treeOf(child.pid ?? 0);
    for (const [pid, { cpuMs }] of tree) cpu.set(pid, cpuMs);
    peakMib = Math.max(
      peakMib,
      [...tree.values()].reduce((sum, { mib }) => sum + mib, 0),
    );
  };
  const timer = setInterval(sample, SAMPLE_MS);
  try {
    const [out, errors, [code, by]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    if (code !== 0) throw new TypeError(`${argv.join(" ")} ended with ${code ?? by}: ${errors}`);
    const cpuMs = [...cpu.values()].reduce((sum, one) => sum + one, 0);
    return { ms: performance.now() - start, cpuMs, peakMib, out };
  } finally {
    clearInterval(timer);
  }
};
