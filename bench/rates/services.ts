// Services that limit requests in every common way: pure, on virtual time, written from the algorithms' definitions and
// not from src/sandbox. Each answers one request with what it knows; headers.ts turns that into headers.

/** What a service knows about one limit after a request came. Moments are ms of the service's clock. */
export interface Count {
  readonly allowed: boolean;
  readonly limit: number;
  readonly windowMs: number;
  /** Requests that would be allowed right now, this one subtracted. */
  readonly remaining: number;
  readonly resetsAt: number;
  /** When one more request would be allowed. */
  readonly nextAt: number;
}

export interface Limiting {
  take(now: number): Count;
}

export interface Limit {
  readonly limit: number;
  readonly windowMs: number;
}

/** At most `limit` in any window. `oldest`: the reset is when one more fits; `all`: when all are forgotten. */
export const slidingWindow = ({ limit, windowMs }: Limit, reset: "oldest" | "all"): Limiting => {
  let times: number[] = [];
  let head = 0;
  return {
    take: (now) => {
      while (head < times.length && (times[head] ?? now) <= now - windowMs) head += 1;
      if (head > 4_096) {
        times = times.slice(head);
        head = 0;
      }
      const allowed = times.length - head < limit;
      if (allowed) times.push(now);
      const oldest = (times[head] ?? now) + windowMs;
      const remaining = limit - (times.length - head);
      const resetsAt = reset === "oldest" ? oldest : (times.at(-1) ?? now) + windowMs;
      return { allowed, limit, windowMs, remaining, resetsAt, nextAt: remaining > 0 ? now : oldest };
    },
  };
};

/** At most `limit` in each window; windows begin at `offsetMs` of the clock, or, null, with the first request. */
export const fixedWindow = ({ limit, windowMs }: Limit, offsetMs: number | null): Limiting => {
  let start = -Infinity;
  let used = 0;
  return {
    take: (now) => {
      const begun = offsetMs === null ? now : Math.floor((now - offsetMs) / windowMs) * windowMs + offsetMs;
      if (now >= start + windowMs) [start, used] = [begun, 0];
      const allowed = used < limit;
      if (allowed) used += 1;
      const resetsAt = start + windowMs;
      return { allowed, limit, windowMs, remaining: limit - used, resetsAt, nextAt: used < limit ? now : resetsAt };
    },
  };
};

/**
 * Tokens come back evenly; `burst` of them at most. With a small burst this is GCRA. `full`: the reset is when the bucket
 * is full again; `next`: when the next token comes. `named`: the limit that it reports, its rate or its burst.
 */
export const tokenBucket = (
  { limit, windowMs }: Limit,
  burst: number,
  reset: "full" | "next",
  named: "rate" | "burst",
): Limiting => {
  const perToken = windowMs / limit;
  let tokens = burst;
  let at = -Infinity;
  return {
    take: (now) => {
      if (at > -Infinity) tokens = Math.min(burst, tokens + (now - at) / perToken);
      at = now;
      const allowed = tokens >= 1;
      if (allowed) tokens -= 1;
      const next = tokens >= 1 ? now : now + (1 - tokens) * perToken;
      const resetsAt = reset === "full" ? now + (burst - tokens) * perToken : now + (1 - (tokens % 1)) * perToken;
      const [count, toldMs] = named === "rate" ? [limit, windowMs] : [burst, burst * perToken];
      return { allowed, limit: count, windowMs: toldMs, remaining: Math.floor(tokens), resetsAt, nextAt: next };
    },
  };
};

/**
 * Tokens come back `share` at a time: `limit` of them in a window, in steps. The bucket holds one step, or `burst`.
 * `named`: it reports its rate, or its step.
 */
export const steppedBucket = (
  { limit, windowMs }: Limit,
  stepMs: number,
  burst: number,
  named: "rate" | "step",
): Limiting => {
  const share = (limit * stepMs) / windowMs;
  let tokens = burst;
  let step = -Infinity;
  return {
    take: (now) => {
      const current = Math.floor(now / stepMs);
      if (step > -Infinity) tokens = Math.min(burst, tokens + (current - step) * share);
      step = current;
      const allowed = tokens >= 1;
      if (allowed) tokens -= 1;
      const resetsAt = (current + 1) * stepMs;
      const told = named === "rate" ? { limit, windowMs } : { limit: share, windowMs: stepMs };
      return { ...told, allowed, remaining: Math.floor(tokens), resetsAt, nextAt: tokens >= 1 ? now : resetsAt };
    },
  };
};
