// Limits of the process that runs a user's SQL: memory and others that the kernel enforces, and those that the parent watches and enforces
// by ending the process.
import { readFileSync } from "node:fs";
import { availableParallelism, setPriority } from "node:os";

export interface ProcessLimits {
  /** Limit of DuckDB, MiB. */
  readonly memoryMiB: number;
  /** Time limit, ms. The asking process enforces it; here it bounds processor time, should that process hang. */
  readonly timeMs: number;
  /** Most characters of one row; default 100 million. */
  readonly rowCharacters?: number;
}

/** No row of the mirror has as many: by default no response is larger than 64 MiB. */
export const ROW_CHARACTERS = 100_000_000;
/** Memory of Node, thread stacks, and vectors that DuckDB's limit does not count, MiB. */
const BEYOND_DUCKDB_MIB = 768;
/** What Node reserves at its start without using it, MiB: from version 23 on; the limit of the system counts it. */
const RESERVED_MIB = Number.parseInt(process.versions.node, 10) >= 23 ? 512 : 0;
const WATCH_MS = 200;
/** Threads of Node, and room; DuckDB adds one per core. */
const MOST_THREADS = 64 + availableParallelism();
/** Others go first. */
const LOW_PRIORITY = 10;

/** All memory that the process may have, KiB. */
const memoryKiB = ({ memoryMiB }: ProcessLimits): number => (memoryMiB + BEYOND_DUCKDB_MIB + RESERVED_MIB) * 1024;

export const lowerPriority = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) setPriority(pid, LOW_PRIORITY);
  } catch {
    // It has ended already.
  }
};

/** What the kernel limits, from the start of the process on: processor time, writable memory. The launcher sets it (fence/launcher.ts). */
export const kernelLimits = (limits: ProcessLimits) => ({
  cpuSeconds: Math.ceil((limits.timeMs / 1000) * availableParallelism()) + 10,
  memoryBytes: memoryKiB(limits) * 1024,
});

const numberIn = (status: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);

interface Most {
  readonly threads: number;
  readonly memoryKiB: number;
}

/**
 * What a process has more of than it may; null: nothing, or the system does not say. Threads are limited by nothing else; memory that
 * `ulimit -d` does not count would show here.
 */
export const excessOf = (pid: number, most: Most): string | null => {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return null;
  }
  if (numberIn(status, "Threads") > most.threads) return `it started more than ${most.threads} threads`;
  const memory = numberIn(status, "RssAnon") + numberIn(status, "RssShmem");
  return memory > most.memoryKiB ? `it took more than ${Math.round(most.memoryKiB / 1024)} MiB of memory` : null;
};

/** Calls `onExcess` with what the process has too much of. Returns what ends the watch. */
export const watchProcess = (
  pid: number | undefined,
  limits: ProcessLimits,
  onExcess: (what: string) => void,
): (() => void) => {
  const most = { threads: MOST_THREADS, memoryKiB: memoryKiB(limits) };
  const watch = setInterval(() => {
    const excess = pid === undefined ? null : excessOf(pid, most);
    if (excess !== null) onExcess(excess);
  }, WATCH_MS).unref();
  return () => clearInterval(watch);
};
