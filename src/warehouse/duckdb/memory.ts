// Memory limit of one open database. It starts low, so that DuckDB does not keep a large mirror in memory, and
// doubles up to the ceiling when work fails for lack of memory. Failed work is repeated, at last alone with one
// thread; only then does the caller get NO_MEMORY. See docs/decisions/memory.md.
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { isOutOfMemory } from "./duck-errors.ts";

/** Mode of an attempt. `alone`: no other work on this database runs, and DuckDB uses one thread. */
export type Effort = "usual" | "alone";

export interface Memory {
  /** Present limit as DuckDB size text. */
  limitText(): string;
  /** True until some work has needed more than the first limit. */
  isFrugal(): boolean;
  /**
   * Raises the limit after a failure under `failedUnder`, unless it was raised meanwhile. Returns false at the
   * ceiling.
   */
  raise(failedUnder: string): boolean;
  /** Repeats `attempt` while it fails for lack of memory. Throws NO_MEMORY when the ceiling is too low. */
  goOn<T>(attempt: (effort: Effort) => Promise<T>): Promise<T>;
}

const text = (bytes: number) => `${bytes} bytes`;

/** Starts with the lowest limit of the plan. */
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
