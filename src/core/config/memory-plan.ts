// Divides the memory of the process between Node and DuckDB, by the setting or the machine (docs/decisions/memory.md). PURE.

import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path/posix";
import { parseBytes } from "../text/units.ts";

// Memory available to this process: the machine's, or less where a container limits it (cgroup v1, v2).

const readText = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // Not Linux, or no control group of this version.
    return "";
  }
};

/** A folder and every folder above it: `/a/b` → `/a/b`, `/a`, `/`. A limit on any of them applies. */
const withParents = (folder: string): readonly string[] => {
  const names = folder.split("/").filter((name) => name !== "" && name !== "..");
  return [...names, ""].map((_, index) => `/${names.slice(0, names.length - index).join("/")}`);
};

/** Files that may contain a limit, from the lines of /proc/self/cgroup: `0::/path` (v2), `9:memory:/path` (v1). */
const limitFiles = (lines: string): readonly string[] =>
  lines.split("\n").flatMap((line) => {
    const [number, controllers = "", ...rest] = line.split(":");
    const folders = withParents(rest.join(":"));
    if (number === "0" && controllers === "") return folders.map((folder) => join(folder, "memory.max"));
    if (!controllers.split(",").includes("memory")) return [];
    return folders.map((folder) => join("memory", folder, "memory.limit_in_bytes"));
  });

/** Available bytes. Tests replace the file system (`root`) and the machine's memory. */
export const machineMemory = (root = "/", machineBytes = totalmem()): number => {
  const files = limitFiles(readText(join(root, "proc/self/cgroup")));
  const limits = files.map((file) => readText(join(root, "sys/fs/cgroup", file)).trim());
  // `max`, and in v1 a number near 2^63, mean that there is no limit.
  return Math.min(machineBytes, ...limits.filter((text) => /^[1-9]\d*$/.test(text)).map(Number));
};

/** DuckDB's part of the process's memory, in bytes. */
export interface MemoryPlan {
  /** Start limit; enough for nearly all work. */
  readonly startBytes: number;
  /** Highest limit; work that needs more fails. */
  readonly ceilingBytes: number;
}

/** A size, or a share of the machine's memory. */
export type MemorySetting =
  | { readonly kind: "size"; readonly bytes: number }
  | { readonly kind: "share"; readonly share: number };

/** A quarter of the machine's memory. */
export const DEFAULT_MEMORY: MemorySetting = { kind: "share", share: 0.25 };

const MIB = 2 ** 20;
/** Memory besides DuckDB's limit: Node, V8's heap, responses waiting to be written (docs/PERFORMANCE.md). */
const BESIDE_DUCKDB_BYTES = 256 * MIB;
/** Four times the memory that checkpoints of every measured mirror needed. */
const SAFE_BYTES = 256 * MIB;
const LEAST_BYTES = BESIDE_DUCKDB_BYTES + SAFE_BYTES;
/** A share of a small machine can be less than large tables sometimes need. */
const LEAST_SHARE_BYTES = 1024 * MIB;
/** Largest share of the machine; the system needs the rest. */
const MOST_OF_MACHINE = 0.8;

/** `512MiB`, `2GB`, `25%`; null for other texts, and for sizes that are too small. */
export const parseMemory = (text: string): MemorySetting | null => {
  const [, percent] = /^(\d{1,2}(?:\.\d+)?)\s*%$/.exec(text) ?? [];
  if (percent !== undefined) return Number(percent) > 0 ? { kind: "share", share: Number(percent) / 100 } : null;
  const bytes = parseBytes(text);
  return bytes === null || bytes < LEAST_BYTES ? null : { kind: "size", bytes };
};

/** DuckDB's limits on a machine with this memory. */
export const memoryPlan = (setting: MemorySetting, machineBytes: number): MemoryPlan => {
  const wanted = setting.kind === "size" ? setting.bytes : Math.max(setting.share * machineBytes, LEAST_SHARE_BYTES);
  const total = Math.max(LEAST_BYTES, Math.min(wanted, MOST_OF_MACHINE * machineBytes));
  const ceilingBytes = Math.floor(total - BESIDE_DUCKDB_BYTES);
  return { startBytes: Math.min(SAFE_BYTES, ceilingBytes), ceilingBytes };
};

/** More values than any row has. */
const VALUES_OF_ROW = 1_000;
/** Memory of the process for each value of a response: some are parsed at once, and each is copied to rows. */
const BYTES_OF_VALUE = 1024;

/** Most values in one response, whose page has `rows` at most. */
export const mostValues = ({ ceilingBytes }: MemoryPlan, rows: number): number =>
  Math.max(rows * VALUES_OF_ROW, Math.floor((ceilingBytes + BESIDE_DUCKDB_BYTES) / BYTES_OF_VALUE));

/**
 * Memory of the process from which on a sync keeps eight responses in flight. On a machine of 1 GiB, eight of 25 MB had the process
 * killed; a few fit (docs/decisions/loading.md).
 */
const MANY_LARGE_BYTES = 1024 * MIB;

/** Requests that a sync keeps in flight however large their responses are. 300 a minute at 1.5 s each need eight. */
export const largeInFlight = ({ ceilingBytes }: MemoryPlan): number =>
  ceilingBytes + BESIDE_DUCKDB_BYTES >= MANY_LARGE_BYTES ? 8 : 2;
