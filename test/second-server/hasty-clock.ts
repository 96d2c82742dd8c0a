// A clock that skips waiting: it runs with the machine's, and jumps to the next timer when nothing happens any more.
// Service and client share it, so a rate of ten a minute is kept in a second and a wait of three hours shows at once.
import type { Clock } from "../../src/core/clock.ts";
import type { ServiceClock } from "./service.ts";

/** Real time in which nothing may have happened before time is skipped: by a little, and by much. */
const STILL_MS = 6;
const VERY_STILL_MS = 40;
const LITTLE_MS = 2_000;

interface Sleeper {
  readonly at: number;
  wake(): void;
}

export interface HastyClock extends Clock, ServiceClock {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Moves time on at once. */
  advance(ms: number): void;
  close(): void;
}

export const createHastyClock = (start: number): HastyClock => {
  const began = performance.now();
  let skipped = 0;
  let touched = began;
  const sleepers = new Set<Sleeper>();
  const now = () => Math.floor(start + performance.now() - began + skipped);
  const touch = () => {
    touched = performance.now();
  };

  const wakeDue = (): void => {
    for (const sleeper of [...sleepers].sort((a, b) => a.at - b.at)) {
      if (sleeper.at > now()) return;
      sleepers.delete(sleeper);
      touch();
      sleeper.wake();
    }
  };

  const look = (): void => {
    wakeDue();
    const next = Math.min(...[...sleepers].map(({ at }) => at));
    const still = performance.now() - touched;
    if (next === Infinity || still < STILL_MS) return;
    const wait = next - now();
    if (wait > LITTLE_MS && still < VERY_STILL_MS) return;
    skipped += Math.max(0, wait);
    wakeDue();
  };
  const timer = setInterval(look, 2);

  return {
    now,
    touch,
    advance: (ms) => {
      skipped += ms;
    },
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        touch();
        const leave = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        const wake = () => {
          signal?.removeEventListener("abort", leave);
          resolve();
        };
        const sleeper = { at: now() + Math.max(0, ms), wake };
        if (ms <= 0) setImmediate(wake);
        else sleepers.add(sleeper);
        signal?.addEventListener("abort", leave, { once: true });
      }),
    close: () => clearInterval(timer),
  };
};
