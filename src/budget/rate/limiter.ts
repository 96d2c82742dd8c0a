// Rate limiter: decides when the next request may be sent. Pure: throttle.ts keeps the state.
// What the windows allow is sent at once. Requests wait only if a window is full, if the service's own count leaves none, if
// too many are in flight, if a bucket is empty (learned, or the user wants an even pace), or after a refusal.
import type { RateInfo } from "../../api/outcome.ts";
import { assumeFaster } from "./assumed-rate.ts";
import type { LimiterState } from "./limiter-state.ts";
import { answeredSince, countsOf, earliestRoom, type LimitsInForce, limitsAt, type Rate } from "./windows.ts";

// Reads the limits that an answer's headers announce, and how many requests the service's own count leaves. Pure.

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Shortest wait for the service's own count. */
const LEAST_HOLD_MS = 200;
/** A reset in whole seconds may lack so much. */
const ROUNDING_MS = 1_000;

/**
 * The window of a limit that names none: a minute (API.md, "Limits"), or longer if two resets in a row agree on it. A first
 * reset that is near shows that it may be shorter; then only the service's own count is followed.
 */
const unnamed = (state: LimiterState, { limit, remaining, resetsAt }: RateInfo, sentAt: number) => {
  const isNew = state.announced.length === 0 || state.announced[0]?.limit !== limit;
  const resetMs = resetsAt === null ? 0 : resetsAt - sentAt;
  const longestResetMs = isNew ? 0 : Math.max(state.longestResetMs, Math.min(resetMs, state.lastResetMs, HOUR_MS));
  const wasCounted = !isNew && state.isCounted;
  const isFar = Math.max(longestResetMs, isNew ? resetMs : 0) >= MINUTE_MS / 2;
  const isCounted = wasCounted || isFar || remaining === null || resetsAt === null;
  return { longestResetMs, lastResetMs: resetMs, isCounted, windowMs: Math.max(MINUTE_MS, longestResetMs) };
};

const isSame = (before: readonly Rate[], now: readonly Rate[]): boolean =>
  before.length === now.length && before.every(({ limit }, n) => limit === now[n]?.limit);

/** Applies the announced limits. What refusals showed of other limits is void. */
export const announce = (state: LimiterState, rate: RateInfo, sentAt: number, now: number): LimiterState => {
  const { limit, windowMs, remaining } = rate;
  if (limit === null || limit < 1) return state;
  const { windowMs: assumedMs, ...resets } = unnamed(state, rate, sentAt);
  const shape = windowMs === null ? resets : { isCounted: true };
  const announced = [{ limit, windowMs: windowMs ?? assumedMs }, ...(rate.also ?? [])];
  const changed = state.announced.length > 0 && !isSame(state.announced, announced);
  return {
    ...state,
    ...shape,
    announced,
    countsBefore: state.countsBefore || (remaining !== null && remaining >= limit),
    learned: changed ? null : state.learned,
    blockedUntil: changed && state.blockedUntil > now ? now : state.blockedUntil,
  };
};

/** True if the service counted no more requests than this limiter knows of: then its windows suffice. */
const isAlone = ({ counts, announced }: LimiterState, used: number, flying: number, sentAt: number): boolean => {
  const [first] = announced;
  if (first === undefined) return false;
  return used <= answeredSince(counts, first.windowMs, sentAt - first.windowMs) + flying;
};

/** What is left after the answer to an earlier request, which was counted in any order. */
export const stillLeft = ({ left, countsBefore }: LimiterState, rate: RateInfo | null): LimiterState["left"] => {
  if (left === null) return null;
  const said = rate?.remaining ?? null;
  return {
    ...left,
    remaining: Math.min(left.remaining, said === null ? left.remaining - 1 : said - (countsBefore ? 1 : 0)),
  };
};

/** What the service's own count leaves; null: unknown. */
export const heldBy = (
  state: LimiterState,
  rate: RateInfo | null,
  flying: number,
  sentAt: number,
  now: number,
): LimiterState["left"] => {
  const { left, countsBefore, isCounted, announced, refusedAt } = state;
  if (rate === null || rate.remaining === null || rate.resetsAt === null) {
    // An answer without a figure used up one, or an earlier figure is outdated since the request was sent after its reset.
    return left === null || sentAt >= left.resetsAt ? null : { ...left, remaining: left.remaining - 1 };
  }
  const before = countsBefore ? 1 : 0;
  const used = rate.limit === null ? null : Math.max(0, rate.limit - rate.remaining + before);
  const isLess = !isCounted || used === null || !isAlone(state, used, flying, sentAt);
  // Answers to requests that were in flight together come in any order: the lowest figure is the latest.
  const isTogether = left !== null && left.at >= sentAt && left.resetsAt > now;
  const remaining = Math.min(rate.remaining - before, isTogether ? left.remaining : Infinity);
  const windowMs = announced[0]?.windowMs ?? MINUTE_MS;
  const roundingMs = isCounted ? Math.min(ROUNDING_MS, windowMs / 20) : refusedAt > -Infinity ? ROUNDING_MS : 0;
  return { remaining, resetsAt: Math.max(rate.resetsAt, now + LEAST_HOLD_MS) + roundingMs, at: now, isLess };
};

/** An even pace allows one request, and one that catches up what a timer fired late. */
const EVEN_BURST = 2;
/** A burst that was never seen to succeed is tried with few requests in flight, so that few are refused together. */
const MOST_EXPLORING = 3;
/** It is tried one by one where that takes no more than this share of the window. */
const EXPLORING_SHARE = 0.05;
/** Answers that show how long the fastest one takes. */
const ENOUGH_TRIPS = 8;

export type Pacing = "burst" | "even";

/** Times when a request was sent and its answer arrived, ms since the epoch. */
export interface RequestTimes {
  readonly sentAt: number;
  readonly answeredAt: number;
  /** `refused`: for its rate, or for the requests in flight. `lost`: without an answer. Unset: it was answered. */
  readonly end?: "refused" | "lost";
}

/** What a granted request proves if it is answered: the bucket's level and the requests in flight, itself included. */
export interface Proof {
  readonly at: number;
  readonly level: number;
  readonly inFlight: number;
}

/** When the bucket has room, learned from refusals or for an even pace; -Infinity: there is none. */
const bucketAt = (state: LimiterState, force: LimitsInForce, awaited: number, pacing: Pacing): number => {
  const learned = force.learned?.burst ?? Infinity;
  // A bucket of one forgives nothing: its next request follows the answer to the one before.
  if (learned === 1 && awaited > 0) return Infinity;
  const burst = pacing === "even" || force.isAssumed ? Math.min(EVEN_BURST, learned) : learned;
  return burst === Infinity ? -Infinity : state.emptyAt - (burst - 1) / force.speed;
};

/** Most requests in flight while a larger burst is tried than ever succeeded: what the rate itself needs, or few. */
const exploringInFlight = ({ fastestMs, left }: LimiterState, { limit, windowMs }: Rate): number => {
  const evenly = (limit * (fastestMs ?? 0)) / windowMs;
  const few = left === null ? Math.min(MOST_EXPLORING, Math.ceil(evenly / EXPLORING_SHARE)) : MOST_EXPLORING;
  return Math.max(1, few, Math.ceil(evenly));
};

/** When requests in flight leave room for one more: now, or after the next answer. */
const flightAt = (
  state: LimiterState,
  { learned, rate }: LimitsInForce,
  {
    flying,
    awaited,
    isExploring,
  }: { readonly flying: number; readonly awaited: number; readonly isExploring: boolean },
): number => {
  if (flying >= (learned?.inFlight ?? Infinity)) return Infinity;
  const most = Math.min(state.provenInFlight + 1, isExploring ? exploringInFlight(state, rate) : Infinity);
  return awaited >= (state.heardUpTo === -Infinity ? 1 : most) ? Infinity : -Infinity;
};

/** When the service's own count, which is used up, allows one more; after its reset one request asks, and the others wait for its answer. */
const leftAt = (
  { emptyAt, provenBurst }: LimiterState,
  left: NonNullable<LimiterState["left"]>,
  speed: number,
  awaited: number,
  now: number,
): number => {
  const provenAt = left.isLess ? Infinity : emptyAt - (provenBurst - 1) / speed;
  if (now < left.resetsAt) return Math.min(left.resetsAt, provenAt);
  return awaited === 0 ? -Infinity : Infinity;
};

/**
 * Time when the next request may be sent, ms since the epoch (in the past: now; Infinity: after the next answer).
 * `flying`: requests in flight; `awaited`: those whose processes were heard of lately.
 */
export const nextSlot = (
  state: LimiterState,
  flying: number,
  now: number,
  pacing: Pacing = "burst",
  awaited = flying,
): number => {
  const { left, emptyAt, provenBurst } = state;
  const force = limitsAt(state, now);
  /** A larger burst than ever succeeded comes next. */
  const isExploring = state.isCounted && Math.max(0, emptyAt - now) * force.speed + 1 > provenBurst;
  const earlyMs = state.trips < ENOUGH_TRIPS ? 0 : (state.fastestMs ?? 0);
  let at = Math.max(
    state.blockedUntil,
    bucketAt(state, force, awaited, pacing),
    flightAt(state, force, { flying, awaited, isExploring }),
  );
  for (const rate of force.rates) at = Math.max(at, earliestRoom(state.counts, rate, flying, earlyMs));
  // What the windows allow is enough, but for a burst that may be too large.
  const isUsedUp = left !== null && left.remaining <= flying && (left.isLess || isExploring);
  return isUsedUp ? Math.max(at, leftAt(state, left, force.speed, awaited, now)) : at;
};

/** Records a request granted at `now`, which is not before nextSlot. */
export const takeSlot = (
  state: LimiterState,
  flying: number,
  now: number,
): { readonly state: LimiterState; readonly proof: Proof } => {
  const { speed } = limitsAt(state, now);
  const emptyAt = Math.max(state.emptyAt, now) + 1 / speed;
  const proof = { at: now, level: (emptyAt - now) * speed, inFlight: flying + 1 };
  return { state: { ...state, grantedAt: now, emptyAt }, proof };
};

/** The time that the request took. */
const withTrip = (state: LimiterState, { sentAt, answeredAt }: RequestTimes): LimiterState => {
  const tookMs = Math.max(0, answeredAt - sentAt);
  return { ...state, fastestMs: Math.min(state.fastestMs ?? tookMs, tookMs), trips: state.trips + 1 };
};

/** The request counts from now on, unless it was refused. `proof`: its burst and its number in flight are accepted. */
const counted = (state: LimiterState, isRefused: boolean, proof: Proof | null, now: number): LimiterState => {
  const { rates, learned, speed } = limitsAt(state, now);
  const counts = countsOf(state.counts, rates, isRefused ? null : now);
  if (isRefused) return { ...state, counts };
  return {
    ...state,
    counts,
    provenBurst: Math.max(state.provenBurst, proof?.level ?? 0),
    provenInFlight: Math.max(state.provenInFlight, proof?.inFlight ?? 0),
    emptyAt: learned?.burst === 1 ? Math.max(state.emptyAt, now + 1 / speed) : state.emptyAt,
  };
};

/**
 * Applies an answer and its headers (null: none). `flying`: other requests that are still in flight.
 */
export const observeRate = (
  before: LimiterState,
  rate: RateInfo | null,
  flying: number,
  now: number,
  trip: RequestTimes | null = null,
  proof: Proof | null = null,
): LimiterState => {
  const sentAt = trip?.sentAt ?? now;
  // Otherwise an answer to a later request was applied already.
  const isLatest = sentAt >= before.heardUpTo;
  const { assumed, loweredFrom, refusedAt } = before;
  const timed = trip === null ? before : withTrip(before, trip);
  const announced = isLatest && rate !== null ? announce(timed, rate, sentAt, now) : timed;
  const sent = () => answeredSince(before.counts, MINUTE_MS, now - MINUTE_MS);
  const state = {
    ...counted(announced, trip?.end === "refused", trip?.end === "lost" ? null : proof, now),
    ...(loweredFrom === null ? {} : assumeFaster(assumed, loweredFrom, sent(), now - refusedAt)),
    blockedUntil: Math.max(announced.blockedUntil, rate?.retryAt ?? -Infinity),
  };
  if (!isLatest) return { ...state, left: stillLeft(state, rate) };
  return { ...state, heardUpTo: sentAt, left: heldBy(state, rate, flying, sentAt, now) };
};
