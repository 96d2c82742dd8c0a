// A clock on which short waits pass at once and long ones stand still, until they are ended or the test lets time pass.
// The waiting timers show which wait a run is in; how far the clock has moved shows how long the run waited.
import { vi } from "vitest";
import type { Clock } from "../../src/core/clock.ts";

export interface StandingClock extends Clock {
  /** Lengths of the waits that stand, ms. */
  standing(): readonly number[];
  /** Resolves once a wait of this length stands. */
  stands(isIt: (ms: number) => boolean): Promise<void>;
  /** Time passes: waits that are over by then end. */
  pass(ms: number): void;
  /** A wait of this length is over; time does not move. */
  over(ms: number): void;
}

interface Wait {
  readonly ms: number;
  readonly until: number;
  readonly end: () => void;
}

/** `shortMs`: waits up to this length pass at once. */
export const standingClock = (shortMs: number, start = Date.now()): StandingClock => {
  let now = start;
  const waits = new Set<Wait>();
  return {
    now: () => now,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      if (ms <= shortMs) {
        now += Math.max(0, ms);
        await new Promise((resolve) => setImmediate(resolve));
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          waits.delete(wait);
          signal?.removeEventListener("abort", abort);
        };
        const abort = () => {
          leave();
          reject(signal?.reason);
        };
        const end = () => {
          leave();
          resolve();
        };
        const wait: Wait = { ms, until: now + ms, end };
        waits.add(wait);
        signal?.addEventListener("abort", abort, { once: true });
      });
    },
    standing: () => [...waits].map(({ ms }) => ms),
    stands: (isIt) =>
      vi.waitFor(
        () => {
          if (![...waits].some(({ ms }) => isIt(ms)))
            throw new Error(`waits: ${[...waits].map(({ ms }) => ms).join(", ")}`);
        },
        { timeout: 120_000, interval: 5 },
      ),
    pass: (ms) => {
      now += ms;
      for (const wait of [...waits].filter(({ until }) => until <= now)) wait.end();
    },
    over: (ms) => {
      for (const wait of [...waits].filter((each) => each.ms === ms)) wait.end();
    },
  };
};
