// How much memory one open database may take: little at first, so that DuckDB does not keep a large mirror in memory;
// twice as much whenever work could not do with less, never more than the ceiling. What failed is done again each time,
// at last alone and with one thread, and only then does a caller hear of it (NO_MEMORY). See decision 0080.
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { isOutOfMemory } from "./duck-errors.ts";

/** How an attempt is made. `alone`: nothing else of this database is under way, and one thread works. */
export type Effort = "usual" | "alone";

export interface Memory {
  /** What DuckDB is held to now, as its text. */
  limitText(): string;
  /** True until some work has needed more than the start. */
  isFrugal(): boolean;
  /** After a failure under `limitText`: takes more, unless others have done so meanwhile. False at the ceiling. */
  raise(failedUnder: string): boolean;
  /** Runs `attempt` until it does not fail for want of memory. Throws NO_MEMORY where even the ceiling is too little. */
  goOn<T>(attempt: (effort: Effort) => Promise<T>): Promise<T>;
}

const text = (bytes: number) => `${bytes} bytes`;

/** A database that starts with the plan's least. */
export const createMemory = ({ startBytes, ceilingBytes }: MemoryPlan): Memory => {
  let bytes = Math.min(startBytes, ceilingBytes);

  const raise = (failedUnder: string): boolean => {
    if (text(bytes) !== failedUnder) return true;
    if (bytes >= ceilingBytes) return false;
    bytes = Math.min(2 * bytes, ceilingBytes);
    return true;
  };

  const goOn = async <T>(attempt: (effort: Effort) => Promise<T>): Promise<T> => {
    for (let effort: Effort = "usual"; ; ) {
      const under = text(bytes);
      try {
        return await attempt(effort);
      } catch (error) {
        if (!isOutOfMemory(error)) throw error;
        if (raise(under)) continue;
        if (effort === "alone") {
          throw new DuckmirrorError("NO_MEMORY", { detail: detailOf(error) }, { cause: error });
        }
        effort = "alone";
      }
    }
  };

  return { limitText: () => text(bytes), isFrugal: () => bytes <= startBytes, raise, goOn };
};
