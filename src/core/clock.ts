// The clock, passed as an argument so that tests decide the time, and timers that may be longer than Node's.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Node's timers fire at once for a longer time, ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A time limit as a timer takes it: 24 days stand for every longer one. */
export const timerMs = (ms: number): number => Math.min(ms, LONGEST_TIMER_MS);

const sleepOnce = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    let leftMs = Math.max(0, ms);
    do {
      const partMs = Math.min(leftMs, LONGEST_TIMER_MS);
      await sleepOnce(partMs, signal);
      leftMs -= partMs;
    } while (leftMs > 0);
  },
};
