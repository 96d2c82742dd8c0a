// Patience: a step that needs Redis is tried until Redis is back, within a limit.
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;

export interface PatienceOptions {
  readonly clock: Clock;
  /** How long to go on trying, ms. */
  readonly forMs: number;
  /** Ends the waiting; the latest error is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs a step that may be repeated, until it succeeds. Throws its latest error when time is over, our own at once. */
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
