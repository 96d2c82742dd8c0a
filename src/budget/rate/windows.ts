// Rate-limit windows of the limiter: which limits are in force, and the earliest moment at which one more request keeps every window, wherever
// it starts, within its limit. A request counts from its response, the latest moment at which the service may have counted it; until then it
// is in flight and counts in every window. Drops implausible figures, and shifts its times when the clock was set back. Pure.
import { z } from "zod";
import { type Learned, type LimiterState, limiterSchema, startLimiter } from "./limiter-state.ts";

// Requests in flight of all processes that share a limiter. They are counted with the grants and answers themselves, so
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
  const next: Flights[] = [];
  let count: number = change;
  for (const each of flights) {
    if (each.by === by) count += none ? 0 : each.count;
    else if (each.at + FLIGHT_MS > now) next.push(each);
  }
  if (count > 0) next.push({ by, count, at: now });
  return next;
};

/** Requests in flight of all processes, and those of them for whose answers the next request waits. */
export const inFlight = (
  flights: readonly Flights[],
  now: number,
): { readonly all: number; readonly awaited: number } => {
  let all = 0;
  let awaited = 0;
  for (const { at, count } of flights) {
    if (at + FLIGHT_MS > now) all += count;
    if (at + AWAITED_MS > now) awaited += count;
  }
  return { all, awaited };
};

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

/** Adds a request answered at `at`, and drops those that no window of this length holds any more. */
const withOne = ({ windowMs, answered }: Counted, at: number): Counted => {
  const span = windowMs / TALLIES;
  const from = Math.ceil(at / span) * span;
  let first = 0;
  // Twice the window: a figure of the service may be that old when it arrives.
  while ((answered[first]?.from ?? Infinity) <= at - 2 * windowMs) first += 1;
  const next = answered.slice(first);
  let place = next.length;
  while (place > 0 && (next[place - 1]?.from ?? 0) > from) place -= 1;
  const there = next[place - 1];
  if (there?.from === from) next[place - 1] = { from, count: there.count + 1 };
  else next.splice(place, 0, { from, count: 1 });
  return { windowMs, answered: next };
};

/**
 * The counts of these rates' windows: one per length, as known so far, with a request answered at `at` (null: none was). A
 * length that was not counted yet starts with what the longest other one holds.
 */
export const countsOf = (counts: readonly Counted[], rates: readonly Rate[], at: number | null): readonly Counted[] => {
  const next = new Map<number, Counted>();
  let longest: Counted | undefined;
  for (const each of counts) if (longest === undefined || each.windowMs > longest.windowMs) longest = each;
  for (const { windowMs } of [{ windowMs: MINUTE_MS }, ...rates])
    next.set(windowMs, { windowMs, answered: longest?.answered ?? [] });
  for (const each of counts) if (next.has(each.windowMs)) next.set(each.windowMs, each);
  if (at !== null) for (const each of next.values()) next.set(each.windowMs, withOne(each, at));
  return [...next.values()];
};

/** Requests answered after `since`. */
export const answeredSince = (counts: readonly Counted[], windowMs: number, since: number): number => {
  let sum = 0;
  for (const { windowMs: length, answered } of counts) {
    if (length === windowMs) for (const { from, count } of answered) sum += from > since ? count : 0;
  }
  return sum;
};

/**
 * Earliest time at which a window has room for one more, ms since the epoch; -Infinity: now; Infinity: only an answer to a
 * request in flight makes room. `earlyMs`: a request needs at least this long to be answered.
 */
export const earliestRoom = (
  counts: readonly Counted[],
  { limit, windowMs }: Rate,
  flying: number,
  earlyMs: number,
): number => {
  if (flying >= limit) return Infinity;
  for (const { windowMs: length, answered } of counts) {
    if (length !== windowMs) continue;
    let count = flying;
    for (let at = answered.length - 1; at >= 0; at -= 1) {
      const tally = answered[at];
      count += tally?.count ?? 0;
      if (tally !== undefined && count >= limit) return tally.from + windowMs - earlyMs;
    }
  }
  return -Infinity;
};

// What holds now: rates that the service announces, the user sets, nobody names, or refusals showed; and other limits of theirs.

/** A limit on requests in flight or on bursts is the service's shape; a smaller window may be its state. */
const SHAPE_MS = 7 * 86_400_000;
const WINDOW_MS = 3_600_000;

export interface LimitsInForce {
  /** All rates whose windows are counted. */
  readonly rates: readonly Rate[];
  /** The slowest of them: the rate in force. */
  readonly rate: Rate;
  /** The same in requests per ms. */
  readonly speed: number;
  /** Nobody names a rate: neither the user nor the service. */
  readonly isAssumed: boolean;
  /** What refusals showed of the service's shape; null: nothing, or long ago. */
  readonly learned: Learned | null;
  /** A window of it that still counts. */
  readonly window: Rate | null;
}

/** The limits in force at `now`. */
export const limitsAt = (state: LimiterState, now: number): LimitsInForce => {
  const { configured, announced, isCounted, assumed } = state;
  const ageMs = state.learned === null ? Infinity : now - state.learned.at;
  const learned = ageMs < SHAPE_MS ? state.learned : null;
  const window = ageMs < WINDOW_MS ? (learned?.window ?? null) : null;
  const isAssumed = configured === null && announced.length === 0;
  const rates: Rate[] = isCounted ? [...announced] : [];
  if (configured !== null) rates.push({ limit: configured, windowMs: MINUTE_MS });
  if (isAssumed) rates.push({ limit: assumed, windowMs: MINUTE_MS });
  if (window !== null) rates.push(window);
  let rate = rates[0] ?? { limit: announced[0]?.limit ?? assumed, windowMs: MINUTE_MS };
  let speed = rate.limit / rate.windowMs;
  for (const each of rates) {
    if (each.limit / each.windowMs >= speed) continue;
    rate = each;
    speed = each.limit / each.windowMs;
  }
  return { rates, rate, speed, isAssumed, learned, window };
};
