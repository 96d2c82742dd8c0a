// Rate limit of the sandbox: a sliding window of at most `limit` requests in any 60 seconds, exact, because it stores the time of each
// request. Refused requests do not count. PURE except for its own memory.
import type { Clock } from "../../core/clock.ts";
import type { Quota } from "../../replica/envelope.ts";
import { advanceCredits, type CreditState, creditsLeft, quotaOf, refundCredit, spendCredit } from "./credits.ts";

// Rate-limit headers in a common form; API.md does not name its headers. PURE.

const seconds = (ms: number): string => String(Math.max(0, Math.ceil(ms / 1000)));

/** Headers of one response; `now` in ms since the epoch. Retry-After only when the request was refused. */
export const rateHeaders = (reading: RateReading, now: number): Record<string, string> => {
  const { allowed, limit, remaining, resetsAt } = reading;
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": seconds(resetsAt - now),
    "ratelimit-policy": `${limit};w=${WINDOW_MS / 1000}`,
    // At least a second: a client that waits 0 s would return at once and be refused again.
    ...(allowed ? {} : { "retry-after": seconds(Math.max(resetsAt - now, 1000)) }),
  };
};

// An organization's credits while requests are under way: a 200 costs one, everything else nothing.
// Source: API.md, "Limits".

/** One accepted request, which may still cost a credit or has cost it. */
export interface Charge {
  spent: boolean;
}

export interface Account {
  quota(): Quota;
  /** Accepts a request; null: no credit is left beside those that requests under way may cost. */
  accept(): Charge | null;
  spend(charge: Charge): void;
  /** The request's response has this status: only a 200 costs a credit, also one from an interceptor. */
  settle(charge: Charge, status: number): void;
}

export const openAccount = (start: CreditState, creditsPerMonth: number, clock: Clock): Account => {
  let credits = start;
  /** Number of accepted requests that may still cost a credit. */
  let pending = 0;
  const current = (): CreditState => {
    credits = advanceCredits(credits, clock.now(), creditsPerMonth);
    return credits;
  };
  const spend = (charge: Charge): void => {
    if (charge.spent) return;
    credits = spendCredit(current());
    charge.spent = true;
    pending--;
  };
  return {
    quota: () => quotaOf(current()),
    accept: () => {
      if (creditsLeft(current()) - pending <= 0) return null;
      pending++;
      return { spent: false };
    },
    spend,
    settle: (charge, status) => {
      if (status === 200) spend(charge);
      else if (charge.spent) credits = refundCredit(current());
      else pending--;
    },
  };
};

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
