// Repeats a step that needs Redis until Redis is back, within a time limit.
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;

export interface PatienceOptions {
  readonly clock: Clock;
  /** Time limit, ms. */
  readonly forMs: number;
  /** Ends the wait; the latest error is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a repeatable step until it succeeds. Throws its latest error after the time limit, and our own errors at once.
 */
export const patiently = async <T>(step: () => Promise<T>, { clock, forMs, signal }: PatienceOptions): Promise<T> => {
  const giveUpAt = clock.now() + forMs;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
    try {
      return await step();
    } catch (error) {
      if (error instanceof DuckmirrorError || signal?.aborted || clock.now() >= giveUpAt) throw error;
      await clock.sleep(waitMs, signal).catch(() => undefined);
    }
  }
};
