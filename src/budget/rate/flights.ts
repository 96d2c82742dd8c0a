// Requests in flight of all processes that share a limiter. Pure. Each process stores its own number. A process that
// died is removed after a while; until then its requests count, which only makes the limiter careful.
import { type LimiterState, startLimiter } from "./limiter-state.ts";
import type { UsageWatch } from "./usage-watch.ts";

/** Requests in flight of one process. */
interface Flights {
  /** Unique name of the process. */
  readonly by: string;
  readonly count: number;
  /** Time of the report, ms since the epoch. */
  readonly at: number;
}

/** A limiter and the requests in flight under it. */
export interface SharedLimiter {
  readonly limiter: LimiterState;
  readonly flights: readonly Flights[];
}

/** By then the service has counted a request, and `remaining` in later responses includes it. */
export const FLIGHT_MS = 120_000;

/** Start state in memory, where nothing was sent before. */
export const startShared = (): SharedLimiter => ({ limiter: startLimiter(null), flights: [] });

/**
 * Start state in a store that may have lost its memory just after a request: as if one was sent at `now`, so that the
 * first request waits for its turn.
 */
export const startAfterLoss = (now: number): SharedLimiter => ({
  limiter: { ...startLimiter(null), slot: now },
  flights: [],
});

/** Stores the number of requests that `by` has in flight at `now`. */
export const noteFlights = (flights: readonly Flights[], by: string, count: number, now: number) => [
  ...flights.filter((other) => other.by !== by && other.at + FLIGHT_MS > now),
  ...(count > 0 ? [{ by, count, at: now }] : []),
];

/** Requests in flight of other processes. */
export const flightsOfOthers = (flights: readonly Flights[], by: string, now: number): number =>
  flights.reduce((sum, other) => sum + (other.by !== by && other.at + FLIGHT_MS > now ? other.count : 0), 0);

const earlierWatch = (watch: UsageWatch, ms: number): UsageWatch => ({
  ...watch,
  since: watch.since - ms,
  refusedAt: watch.refusedAt === null ? null : watch.refusedAt - ms,
});

/**
 * The state after the clock went back (a replica with another clock took over). No slot may be in the future, so all
 * its times move back by as much as the latest one.
 */
export const onEarlierClock = (state: SharedLimiter, now: number): SharedLimiter => {
  const { limiter, flights } = state;
  const ahead = limiter.slot - now;
  if (ahead <= 0) return state;
  return {
    limiter: {
      ...limiter,
      slot: now,
      sent: limiter.sent.map(({ from, count }) => ({ from: from - ahead, count })),
      blockedUntil: limiter.blockedUntil - ahead,
      refilledAt: limiter.refilledAt - ahead,
      askedAt: limiter.askedAt === null ? null : limiter.askedAt - ahead,
      slowedAt: limiter.slowedAt - ahead,
      steppedAt: limiter.steppedAt - ahead,
      aloneUntil: limiter.aloneUntil - ahead,
      heardUpTo: limiter.heardUpTo - ahead,
      calmUntil: limiter.calmUntil - ahead,
      watch: limiter.watch === null ? null : earlierWatch(limiter.watch, ahead),
    },
    flights: flights.map((each) => ({ ...each, at: each.at - ahead })),
  };
};
