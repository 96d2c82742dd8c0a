// Requests in flight of all processes that share a limiter. Pure. Each process notes its own number; one that died is
// forgotten after a while, and until then its requests count: too many in flight only make the limiter careful.
import { type LimiterState, startLimiter } from "./limiter.ts";

/** What one process has in flight. */
interface Flights {
  /** The process, by a name no other one has. */
  readonly by: string;
  readonly count: number;
  /** When it said so, ms since the epoch. */
  readonly at: number;
}

/** A limiter and what is in flight under it. */
export interface SharedLimiter {
  readonly limiter: LimiterState;
  readonly flights: readonly Flights[];
}

/** By then the service has counted a request, and `remaining` in any later answer shows it. */
export const FLIGHT_MS = 120_000;

/** In memory, where nothing can have been sent before. */
export const startShared = (): SharedLimiter => ({ limiter: startLimiter(null), flights: [] });

/**
 * In a store that may have lost its memory a moment after a request: as if one had left at `now`, so that the first
 * one waits for its turn like any other.
 */
export const startAfterLoss = (now: number): SharedLimiter => ({
  limiter: { ...startLimiter(null), slot: now },
  flights: [],
});

/** Notes what `by` has in flight at `now`. */
export const noteFlights = (flights: readonly Flights[], by: string, count: number, now: number) => [
  ...flights.filter((other) => other.by !== by && other.at + FLIGHT_MS > now),
  ...(count > 0 ? [{ by, count, at: now }] : []),
];

/** In flight at other processes. */
export const flightsOfOthers = (flights: readonly Flights[], by: string, now: number): number =>
  flights.reduce((sum, other) => sum + (other.by !== by && other.at + FLIGHT_MS > now ? other.count : 0), 0);

/**
 * The state on a clock that went back (a replica with another clock took over): no slot lies in the future, so all its
 * moments move back by as much as the latest one does.
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
      slowedAt: limiter.slowedAt - ahead,
      aloneUntil: limiter.aloneUntil - ahead,
      heardUpTo: limiter.heardUpTo - ahead,
      calmUntil: limiter.calmUntil - ahead,
      watch: limiter.watch === null ? null : { ...limiter.watch, since: limiter.watch.since - ahead },
    },
    flights: flights.map((each) => ({ ...each, at: each.at - ahead })),
  };
};
