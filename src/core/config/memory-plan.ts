// How much memory the process may take, and how much of it DuckDB gets (decision 0080). PURE.
import { parseBytes } from "../units.ts";

/** What DuckDB may take of the process's memory, in bytes. */
export interface MemoryPlan {
  /** Enough for nearly all work. */
  readonly startBytes: number;
  /** Work that needs more than this fails. */
  readonly ceilingBytes: number;
}

/** A size, or a share of what the machine has. */
export type MemorySetting =
  | { readonly kind: "size"; readonly bytes: number }
  | { readonly kind: "share"; readonly share: number };

/** A quarter of the machine. */
export const DEFAULT_MEMORY: MemorySetting = { kind: "share", share: 0.25 };

const MIB = 2 ** 20;
/** What a process takes beside DuckDB's limit: Node, V8's heap, answers that wait to be written (docs/PERFORMANCE.md). */
const BESIDE_DUCKDB_BYTES = 256 * MIB;
/** Checkpoints of every mirror that was measured fit into this, four times over. */
const SAFE_BYTES = 256 * MIB;
const LEAST_BYTES = BESIDE_DUCKDB_BYTES + SAFE_BYTES;
/** A share of a small machine is less than large tables may need now and then. */
const LEAST_SHARE_BYTES = 1024 * MIB;
/** The rest is for the system. */
const MOST_OF_MACHINE = 0.8;

/** `512MiB`, `2GB`, `25%`; null for anything else, and for less than is safe. */
export const parseMemory = (text: string): MemorySetting | null => {
  const [, percent] = /^(\d{1,2}(?:\.\d+)?)\s*%$/.exec(text) ?? [];
  if (percent !== undefined) return Number(percent) > 0 ? { kind: "share", share: Number(percent) / 100 } : null;
  const bytes = parseBytes(text);
  return bytes === null || bytes < LEAST_BYTES ? null : { kind: "size", bytes };
};

/** What DuckDB gets on a machine that has so many bytes. */
export const memoryPlan = (setting: MemorySetting, machineBytes: number): MemoryPlan => {
  const wanted = setting.kind === "size" ? setting.bytes : Math.max(setting.share * machineBytes, LEAST_SHARE_BYTES);
  const total = Math.max(LEAST_BYTES, Math.min(wanted, MOST_OF_MACHINE * machineBytes));
  const ceilingBytes = Math.floor(total - BESIDE_DUCKDB_BYTES);
  return { startBytes: Math.min(SAFE_BYTES, ceilingBytes), ceilingBytes };
};
