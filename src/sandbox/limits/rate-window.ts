// Sliding window: at most `limit` requests in any 60 seconds. Exact: it stores the time of each request.
// PURE except for its own memory; refused requests do not count.

export const WINDOW_MS = 60_000;

export interface RateReading {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Time when the oldest request leaves the window and one more fits, ms since the epoch. */
  readonly resetsAt: number;
}

export interface RateWindow {
  take(now: number): RateReading;
}

export const createRateWindow = (limit: number): RateWindow => {
  let taken: number[] = [];
  let head = 0;
  return {
    take: (now) => {
      while (head < taken.length && (taken[head] ?? now) <= now - WINDOW_MS) head++;
      if (head > 10_000) {
        taken = taken.slice(head);
        head = 0;
      }
      const allowed = taken.length - head < limit;
      if (allowed) taken.push(now);
      const oldest = taken[head] ?? now;
      return { allowed, limit, remaining: limit - (taken.length - head), resetsAt: oldest + WINDOW_MS };
    },
  };
};
