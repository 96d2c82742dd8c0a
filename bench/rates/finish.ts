// How long a number of requests takes, and how many are refused: the program's own limiter, header parser and refusals
// against a service on virtual time, so that an hour takes a moment.

import { type RefusalCause, refusalCause } from "../../src/api/limits/quota-signs.ts";
import { parseRateHeaders } from "../../src/api/limits/rate-headers.ts";
import type { RefusedOutcome } from "../../src/api/outcome.ts";
import type { Pacing } from "../../src/budget/rate/limiter.ts";
import { createThrottle, type Throttle } from "../../src/budget/rate/throttle.ts";
import type { SharedLimiter } from "../../src/budget/rate/windows.ts";
import { startShared } from "../../src/budget/rate/windows.ts";
import type { StateStore } from "../../src/budget/store/state-store.ts";
import { createMemoryState } from "../../src/budget/store/state-store.ts";
import { type Dialect, headersOf } from "./headers.ts";
import { createManualClock, type ManualClock } from "./manual-clock.ts";
import type { Count, Limiting } from "./services.ts";

/** A service on virtual time. */
export interface Service {
  /** `inFlight`: requests that it works at, this one included. null: too many of them. */
  take(now: number, inFlight: number): Count | null;
  /** Changes what the headers say. */
  say?(count: Count): Count;
}

export interface Work {
  readonly requests: number;
  readonly service: Service;
  readonly dialect: Dialect;
  /** Requests per minute that the user set. */
  readonly configured: number | null;
  readonly pacing?: Pacing;
  /** Default: one. They share a limiter. */
  readonly processes?: number;
  readonly concurrency?: number;
  readonly latencyMs?: number;
  /** The limiter of an earlier process; default: none. */
  readonly store?: StateStore<SharedLimiter>;
  readonly clock?: ManualClock;
  /** The service's clock minus ours. */
  readonly skewMs?: number;
}

export interface Finish {
  readonly tookMs: number;
  readonly refused: number;
  /** Most refusals without an answer in between. */
  readonly mostInRow: number;
  /** Longest time without an answer. */
  readonly longestPauseMs: number;
  /** Requests per second of the run. */
  readonly sentAt: readonly number[];
}

const call = { endpoint: "listSignals", path: "/v1/signals", query: {} } as const;

const refusedOutcome = (headers: Record<string, string>, excerpt: string, now: number): RefusedOutcome => ({
  kind: "refused",
  call,
  status: 429,
  sentAt: now,
  durationMs: 1,
  bytes: 0,
  rate: parseRateHeaders(headers, now),
  excerpt,
  usage: null,
});

/** A service that limits by these rules, all of which must allow a request. */
export const serviceOf = (rules: readonly Limiting[], say?: Service["say"]): Service => ({
  take: (now) => {
    const counts = rules.map((rule) => rule.take(now));
    const refusing = counts.find(({ allowed }) => !allowed);
    return refusing ?? counts.reduce((a, b) => (b.remaining < a.remaining ? b : a));
  },
  ...(say === undefined ? {} : { say }),
});

/** Counts what happens, and keeps no more than that. */
const createTally = (start: number) => {
  let refused = 0;
  let inRow = 0;
  let mostInRow = 0;
  let latestAt = start;
  let longestPauseMs = 0;
  return {
    note: (isAllowed: boolean, now: number) => {
      inRow = isAllowed ? 0 : inRow + 1;
      mostInRow = Math.max(mostInRow, inRow);
      if (!isAllowed) refused += 1;
      else {
        longestPauseMs = Math.max(longestPauseMs, now - latestAt);
        latestAt = now;
      }
    },
    figures: () => ({ tookMs: latestAt - start, refused, mostInRow, longestPauseMs }),
  };
};

/** Sends all requests as fast as the limiter lets them go. Gives up after ten hours. */
export const finish = async (work: Work): Promise<Finish> => {
  const { service, dialect, configured, latencyMs = 50, concurrency = 16, skewMs = 0 } = work;
  const clock = work.clock ?? createManualClock(Date.UTC(2026, 0, 5, 10, 0, 17));
  const start = clock.now();
  const store = work.store ?? { ...createMemoryState(clock, startShared()), shared: (work.processes ?? 1) > 1 };
  const tally = createTally(start);
  const sentAt: number[] = [];
  let atService = 0;
  let todo = work.requests;

  const request = async (throttle: Throttle, attempt: number): Promise<boolean> => {
    const at = clock.now();
    sentAt.push(at - start);
    await clock.sleep(latencyMs / 2);
    atService += 1;
    const arrivedAt = clock.now() + skewMs;
    const count = service.take(arrivedAt, atService);
    await clock.sleep(latencyMs / 2);
    atService -= 1;
    const now = clock.now();
    const isAllowed = count?.allowed === true;
    const headers = count === null ? {} : headersOf([service.say?.(count) ?? count], arrivedAt, dialect);
    const end = isAllowed ? {} : { end: "refused" as const };
    tally.note(isAllowed, now);
    const rate = parseRateHeaders(headers, now);
    await throttle.observe(rate, { sentAt: at, answeredAt: now, ...end });
    if (isAllowed) return true;
    const outcome = refusedOutcome(headers, count === null ? "too many concurrent requests" : "", now);
    const named = rate?.retryAt ?? (rate?.remaining === 0 ? rate.resetsAt : null);
    const backoff = now + 1_000 * 2 ** Math.min(attempt, 6) * 0.75;
    const cause: RefusalCause = refusalCause(outcome, now);
    await throttle.backOff({ untilMs: named ?? backoff, cause, namedAt: named });
    if (cause !== "rate") await clock.sleep(((named ?? backoff) - now) * 0.5);
    return false;
  };

  const worker = async (throttle: Throttle) => {
    while (todo > 0) {
      todo -= 1;
      await throttle.acquire();
      for (let attempt = 1; !(await request(throttle, attempt)); attempt += 1) await throttle.acquire();
    }
  };
  const workers = Array.from({ length: work.processes ?? 1 }, (_, n) => {
    const throttle = createThrottle({
      clock,
      configured,
      store,
      process: `p${n}`,
      ...(work.pacing === undefined ? {} : { pacing: work.pacing }),
    });
    return Array.from({ length: concurrency }, () => worker(throttle));
  }).flat();
  let isDone = false;
  void Promise.all(workers).then(() => {
    isDone = true;
  });
  for (let step = 0; step < 36_000 && !isDone; step += 1) await clock.advance(1_000);
  if (!isDone) throw new Error(`${todo} of ${work.requests} requests were not sent in ten hours`);
  return { ...tally.figures(), sentAt };
};
