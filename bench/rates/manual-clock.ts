// A clock that stands still until a test moves it.
import type { Clock } from "../../src/core/clock.ts";

export interface ManualClock extends Clock {
  /** Moves on by `ms`, waking sleepers in the order of their time; what they start runs before the next one wakes. */
  advance(ms: number): Promise<void>;
  /** How many sleep now. */
  sleeping(): number;
}

interface Sleeper {
  readonly at: number;
  wake(): void;
}

/** Lets everything run that waits for nothing but its turn. */
export const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** `lateMs`: how late a sleeper wakes, as real timers do. */
export const createManualClock = (start = 1_000_000, lateMs: () => number = () => 0): ManualClock => {
  let now = start;
  const sleepers = new Set<Sleeper>();
  const earliest = () => [...sleepers].reduce<Sleeper | null>((a, b) => (a === null || b.at < a.at ? b : a), null);
  return {
    now: () => now,
    sleeping: () => sleepers.size,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const abort = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        const sleeper: Sleeper = {
          at: now + Math.max(0, ms) + lateMs(),
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener("abort", abort);
            resolve();
          },
        };
        signal?.addEventListener("abort", abort, { once: true });
        sleepers.add(sleeper);
      }),
    advance: async (ms) => {
      const until = now + ms;
      await settled();
      for (let next = earliest(); next !== null && next.at <= until; next = earliest()) {
        now = Math.max(now, next.at);
        next.wake();
        await settled();
      }
      now = until;
    },
  };
};
