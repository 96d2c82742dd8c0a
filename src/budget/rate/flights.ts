// Requests in flight of all processes that share a limiter. Pure. They are counted with the grants and answers themselves, so
// that no request is missed between the two. A process that died is removed after a while; until then its requests count,
// which only makes the limiter careful.
import { z } from "zod";
import { type LimiterState, limiterSchema, startLimiter } from "./limiter-state.ts";

const flight = z.object({
  /** Unique name of the process. */
  by: z.string(),
  count: z.number(),
  /** Time of the report, ms since the epoch. */
  at: z.number(),
});
type Flights = z.output<typeof flight>;

/** A limiter and the requests in flight under it. */
export interface SharedLimiter {
  readonly limiter: LimiterState;
  readonly flights: readonly Flights[];
}

export const sharedLimiterSchema = z.object({ limiter: limiterSchema, flights: z.array(flight) });

/** By then a request has an answer, or never will. */
export const FLIGHT_MS = 120_000;

/** Start state where nothing is known. */
export const startShared = (): SharedLimiter => ({ limiter: startLimiter(null), flights: [] });

/** One more request of `by` in flight (1), or one less (-1). `none`: it had none until now. */
export const countFlight = (
  flights: readonly Flights[],
  by: string,
  change: 1 | -1,
  now: number,
  none = false,
): readonly Flights[] => {
  const before = none ? 0 : (flights.find((each) => each.by === by)?.count ?? 0);
  const count = before + change;
  return [
    ...flights.filter((other) => other.by !== by && other.at + FLIGHT_MS > now),
    ...(count > 0 ? [{ by, count, at: now }] : []),
  ];
};

/** Requests in flight of all processes. */
export const inFlight = (flights: readonly Flights[], now: number): number =>
  flights.reduce((sum, { at, count }) => sum + (at + FLIGHT_MS > now ? count : 0), 0);

/**
 * The state after the clock went back (a replica with another clock took over, or the machine's was set). No grant may be in
 * the future, so all times move back by as much as the latest one.
 */
export const onEarlierClock = (state: SharedLimiter, now: number): SharedLimiter => {
  const { limiter, flights } = state;
  const ahead = limiter.grantedAt - now;
  if (ahead <= 0) return state;
  const { left, learned } = limiter;
  return {
    limiter: {
      ...limiter,
      grantedAt: now,
      emptyAt: limiter.emptyAt - ahead,
      counts: limiter.counts.map(({ windowMs, answered }) => ({
        windowMs,
        answered: answered.map(({ from, count }) => ({ from: from - ahead, count })),
      })),
      blockedUntil: limiter.blockedUntil - ahead,
      left: left === null ? null : { ...left, resetsAt: left.resetsAt - ahead, at: left.at - ahead },
      learned: learned === null ? null : { ...learned, at: learned.at - ahead },
      refusedAt: limiter.refusedAt - ahead,
      steppedAt: limiter.steppedAt - ahead,
      heardUpTo: limiter.heardUpTo - ahead,
    },
    flights: flights.map((each) => ({ ...each, at: each.at - ahead })),
  };
};
