// Windows: counts the requests of each rate limit in force, so that none holds more than its limit, wherever it starts. Pure.
// A request counts from its answer, the latest moment at which the service may have counted it; until then it is in flight,
// and counts in every window.
import { z } from "zod";
import { type Learned, type LimiterState, limiterSchema, startLimiter } from "./limiter-state.ts";

// Requests in flight of all processes that share a limiter. Pure. They are counted with the grants and answers themselves, so
// that no request is missed between the two. A process that died is removed after a while; until then its requests count in
// windows and limits, and for a shorter while others wait for their answers.

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
/** Longest wait for answers to a process that has said nothing since: it may have died. */
const AWAITED_MS = 20_000;

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
export const inFlight = (flights: readonly Flights[], now: number, longest = FLIGHT_MS): number =>
  flights.reduce((sum, { at, count }) => sum + (at + longest > now ? count : 0), 0);

/** The same, as far as the next request waits for their answers. */
export const awaited = (flights: readonly Flights[], now: number): number => inFlight(flights, now, AWAITED_MS);

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

/** The service is waited for at most an hour, and a window is an hour long at most (api/limits). */
const LONGEST_MS = 2 * 3_600_000;
/** A bucket that leaks may hold the requests of many windows. */
const LONGEST_BUCKET_MS = 7 * 86_400_000;

/** Whether the limiter can have come to this state by itself: what another program wrote could hold every request back for good. */
export const isPossible = ({ limiter, flights }: SharedLimiter, now: number): boolean => {
  const { counts, announced, learned, left } = limiter;
  const times = [
    ...[limiter.blockedUntil, limiter.refusedAt, limiter.steppedAt, limiter.heardUpTo, limiter.grantedAt],
    ...[left?.resetsAt ?? now, learned?.at ?? now],
    ...counts.flatMap(({ answered }) => answered.map(({ from }) => from)),
    ...flights.map(({ at }) => at),
  ];
  const windows = [...announced, ...(learned?.window ? [learned.window] : []), ...counts];
  return (
    times.every((at) => at <= now + LONGEST_MS) &&
    windows.every(({ windowMs }) => windowMs <= LONGEST_MS) &&
    limiter.emptyAt <= now + LONGEST_BUCKET_MS
  );
};

/** `limit` requests per `windowMs`. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** Number of requests that count from `from` (ms since the epoch), for the length of a window. */
interface Tally {
  readonly from: number;
  readonly count: number;
}

/** The answered requests that count in windows of one length, oldest first. */
export interface Counted {
  readonly windowMs: number;
  readonly answered: readonly Tally[];
}

const MINUTE_MS = 60_000;
/** Tallies per window: rounding a moment up to a tally costs less than half a percent of the rate. */
const TALLIES = 240;

export const perMinute = (limit: number): Rate => ({ limit, windowMs: MINUTE_MS });

/** Requests per ms. */
export const speedOf = ({ limit, windowMs }: Rate): number => limit / windowMs;

export const slowestOf = (rates: readonly Rate[]): Rate | undefined =>
  rates.reduce<Rate | undefined>((a, b) => (a === undefined || speedOf(b) < speedOf(a) ? b : a), undefined);

/** Adds a request answered at `at`, and drops those that no window of this length holds any more. */
const withOne = ({ windowMs, answered }: Counted, at: number): Counted => {
  const span = windowMs / TALLIES;
  const from = Math.ceil(at / span) * span;
  // Twice the window: a figure of the service may be that old when it arrives.
  const kept = answered.filter((tally) => tally.from > at - 2 * windowMs);
  const before = kept.findLastIndex((tally) => tally.from <= from);
  const there = kept[before];
  const next =
    there?.from === from
      ? kept.with(before, { from, count: there.count + 1 })
      : kept.toSpliced(before + 1, 0, { from, count: 1 });
  return { windowMs, answered: next };
};

/** Counts a request answered at `at` in all windows. */
export const countAnswer = (counts: readonly Counted[], at: number): readonly Counted[] =>
  counts.map((each) => withOne(each, at));

/**
 * The counts of these rates' windows: one per length, as known so far. A length that was not counted yet starts with what
 * the longest other one holds.
 */
export const countsOf = (counts: readonly Counted[], rates: readonly Rate[]): readonly Counted[] => {
  const lengths = [...new Set([MINUTE_MS, ...rates.map(({ windowMs }) => windowMs)])];
  const longest = counts.reduce<Counted | undefined>((a, b) => (a && a.windowMs >= b.windowMs ? a : b), undefined);
  return lengths.map(
    (windowMs) => counts.find((each) => each.windowMs === windowMs) ?? { windowMs, answered: longest?.answered ?? [] },
  );
};

const answeredIn = (counts: readonly Counted[], windowMs: number): readonly Tally[] =>
  counts.find((each) => each.windowMs === windowMs)?.answered ?? [];

/** Requests answered after `since`. */
export const answeredSince = (counts: readonly Counted[], windowMs: number, since: number): number =>
  answeredIn(counts, windowMs).reduce((sum, { from, count }) => sum + (from > since ? count : 0), 0);

/**
 * Earliest time at which a window has room for one more, ms since the epoch; -Infinity: now; Infinity: only an answer to a
 * request in flight makes room. `earlyMs`: a request needs at least this long to be answered.
 */
export const roomAt = (
  counts: readonly Counted[],
  { limit, windowMs }: Rate,
  flying: number,
  earlyMs: number,
): number => {
  if (flying >= limit) return Infinity;
  let count = flying;
  const full = answeredIn(counts, windowMs).findLast((tally) => {
    count += tally.count;
    return count >= limit;
  });
  return full === undefined ? -Infinity : full.from + windowMs - earlyMs;
};

// The rates that hold now: announced by the service, set by the user, assumed where nobody names one, or learned from refusals.

/** A limit on requests in flight or on bursts is the service's shape; a smaller window may be its state. */
const SHAPE_MS = 7 * 86_400_000;
const WINDOW_MS = 3_600_000;

const within = ({ learned }: LimiterState, ms: number, now: number): Learned | null =>
  learned !== null && now - learned.at < ms ? learned : null;

/** What was learned of the service's shape; null: nothing, or long ago. */
export const learnedOf = (state: LimiterState, now: number): Learned | null => within(state, SHAPE_MS, now);

export const burstOf = (state: LimiterState, now: number): number | null => learnedOf(state, now)?.burst ?? null;
export const inFlightOf = (state: LimiterState, now: number): number | null => learnedOf(state, now)?.inFlight ?? null;
export const windowOf = (state: LimiterState, now: number): Rate | null =>
  within(state, WINDOW_MS, now)?.window ?? null;

/** True while nobody names a rate: neither the user nor the service. */
export const isAssumed = ({ configured, announced }: LimiterState): boolean =>
  configured === null && announced.length === 0;

/** All rates whose windows are counted. */
export const ratesOf = (state: LimiterState, now: number): readonly Rate[] => {
  const { configured, announced, isCounted, assumed } = state;
  const learned = windowOf(state, now);
  return [
    ...(isCounted ? announced : []),
    ...(configured === null ? [] : [perMinute(configured)]),
    ...(isAssumed(state) ? [perMinute(assumed)] : []),
    ...(learned === null ? [] : [learned]),
  ];
};

/** The rate in force. */
export const rateOf = (state: LimiterState, now: number): Rate =>
  slowestOf(ratesOf(state, now)) ?? perMinute(state.announced[0]?.limit ?? state.assumed);

/** Requests per minute. */
export const ratePerMinute = (state: LimiterState, now: number): number => MINUTE_MS * speedOf(rateOf(state, now));
