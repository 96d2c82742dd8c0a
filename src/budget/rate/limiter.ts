// Rate limiter: decides when the next request may be sent. Pure: throttle.ts keeps the state.
// What the windows allow is sent at once. Requests wait only if a window is full, if the service's own count leaves none, if
// too many are in flight, if a bucket is empty (learned, or the user wants an even pace), or after a refusal.
import type { RateInfo } from "../../api/outcome.ts";
import { announce, heldBy, stillLeft } from "./announced.ts";
import { assumeFaster } from "./assumed-rate.ts";
import type { LimiterState } from "./limiter-state.ts";
import { burstOf, inFlightOf, isAssumed, rateOf, ratesOf } from "./rates-in-force.ts";
import { answeredSince, countAnswer, countsOf, type Rate, roomAt, speedOf } from "./windows.ts";

const MINUTE_MS = 60_000;
/** An even pace allows one request, and one that catches up what a timer fired late. */
const EVEN_BURST = 2;
/** A burst that was never seen to succeed is tried with few requests in flight, so that few are refused together. */
const MOST_EXPLORING = 3;
/** It is tried one by one where that takes no more than this share of the window. */
const EXPLORING_SHARE = 0.05;
/** Answers that show how long the fastest one takes. */
const ENOUGH_TRIPS = 8;

/** Reason why the next request waits. */
export type WaitReason = "pace" | "first-answer" | "remaining" | "in-flight" | "refused";

export type Pacing = "burst" | "even";

/** Times when a request was sent and its answer arrived, ms since the epoch. */
export interface Trip {
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

/** Level of a bucket that leaks at the rate in force. */
const levelAt = ({ emptyAt }: LimiterState, speed: number, now: number): number => Math.max(0, emptyAt - now) * speed;

const bucketAt = (state: LimiterState, speed: number, flying: number, pacing: Pacing, now: number): number => {
  const even = pacing === "even" || isAssumed(state) ? EVEN_BURST : null;
  const learned = burstOf(state, now);
  // A bucket of one forgives nothing: its next request follows the answer to the one before.
  if (learned === 1 && flying > 0) return Infinity;
  const burst = Math.min(even ?? Infinity, learned ?? Infinity);
  return burst === Infinity ? -Infinity : state.emptyAt - (burst - 1) / speed;
};

/** Most requests in flight while a larger burst is tried than ever succeeded: what the rate itself needs, or few. */
const exploringInFlight = ({ fastestMs, left }: LimiterState, { limit, windowMs }: Rate): number => {
  const evenly = (limit * (fastestMs ?? 0)) / windowMs;
  const few = left === null ? Math.min(MOST_EXPLORING, Math.ceil(evenly / EXPLORING_SHARE)) : MOST_EXPLORING;
  return Math.max(1, few, Math.ceil(evenly));
};

/** A larger burst than ever succeeded comes next. */
const isExploring = (state: LimiterState, speed: number, now: number): boolean =>
  state.isCounted && levelAt(state, speed, now) + 1 > state.provenBurst;

const flightAt = (state: LimiterState, rate: Rate, flying: number, now: number): number => {
  const learned = inFlightOf(state, now);
  if (learned !== null && flying >= learned) return Infinity;
  const isTried = isExploring(state, speedOf(rate), now);
  const most = Math.min(state.provenInFlight + 1, isTried ? exploringInFlight(state, rate) : Infinity);
  const known = state.heardUpTo === -Infinity ? 1 : most;
  return flying >= known ? Infinity : -Infinity;
};

/** When the service's own count leaves one more; after its reset one request asks, and the others wait for its answer. */
const leftAt = (state: LimiterState, speed: number, flying: number, now: number): number => {
  const { left } = state;
  if (left === null || left.remaining - flying > 0) return -Infinity;
  // What the windows allow is enough, but for a burst that may be too large.
  if (!left.isLess && !isExploring(state, speed, now)) return -Infinity;
  const provenAt = left.isLess ? Infinity : state.emptyAt - (state.provenBurst - 1) / speed;
  if (now < left.resetsAt) return Math.min(left.resetsAt, provenAt);
  return flying === 0 ? -Infinity : Infinity;
};

/**
 * Time when the next request may be sent, ms since the epoch (in the past: now; Infinity: after the next answer), and the
 * reason for waiting. `flying`: requests in flight.
 */
export const nextSlot = (
  state: LimiterState,
  flying: number,
  now: number,
  pacing: Pacing = "burst",
): { readonly at: number; readonly why: WaitReason } => {
  const rate = rateOf(state, now);
  const earlyMs = state.trips < ENOUGH_TRIPS ? 0 : (state.fastestMs ?? 0);
  const windows = ratesOf(state, now).map((each) => roomAt(state.counts, each, flying, earlyMs));
  const waits = [
    { at: Math.max(bucketAt(state, speedOf(rate), flying, pacing, now), ...windows), why: "pace" },
    { at: flightAt(state, rate, flying, now), why: state.heardUpTo === -Infinity ? "first-answer" : "in-flight" },
    { at: leftAt(state, speedOf(rate), flying, now), why: "remaining" },
    { at: state.blockedUntil, why: "refused" },
  ] as const;
  return waits.reduce<{ at: number; why: WaitReason }>(
    (latest, wait) => (wait.at > latest.at ? wait : latest),
    waits[0],
  );
};

/** Records a request granted at `now`, which is not before nextSlot. */
export const takeSlot = (
  state: LimiterState,
  flying: number,
  now: number,
): { readonly state: LimiterState; readonly proof: Proof } => {
  const speed = speedOf(rateOf(state, now));
  const next = { ...state, grantedAt: now, emptyAt: Math.max(state.emptyAt, now) + 1 / speed };
  return { state: next, proof: { at: now, level: levelAt(next, speed, now), inFlight: flying + 1 } };
};

/** The request counts from now on. `proof`: its burst and its number in flight are accepted. */
const counted = (state: LimiterState, proof: Proof | null, now: number): LimiterState => ({
  ...state,
  counts: countAnswer(countsOf(state.counts, ratesOf(state, now)), now),
  provenBurst: Math.max(state.provenBurst, proof?.level ?? 0),
  provenInFlight: Math.max(state.provenInFlight, proof?.inFlight ?? 0),
  emptyAt: burstOf(state, now) === 1 ? Math.max(state.emptyAt, now + 1 / speedOf(rateOf(state, now))) : state.emptyAt,
});

const withTrip = (state: LimiterState, { sentAt, answeredAt }: Trip): LimiterState => {
  const tookMs = Math.max(0, answeredAt - sentAt);
  return { ...state, fastestMs: Math.min(state.fastestMs ?? tookMs, tookMs), trips: state.trips + 1 };
};

/**
 * Applies an answer and its headers (null: none). `flying`: other requests that are still in flight.
 */
export const observeRate = (
  before: LimiterState,
  rate: RateInfo | null,
  flying: number,
  now: number,
  trip: Trip | null = null,
  proof: Proof | null = null,
): LimiterState => {
  const timed = trip === null ? before : withTrip(before, trip);
  const sentIn = (ms: number) => answeredSince(before.counts, MINUTE_MS, now - ms);
  const state = {
    ...(trip?.end === "refused" ? timed : counted(timed, trip?.end === "lost" ? null : proof, now)),
    ...assumeFaster(before, sentIn, now - before.refusedAt),
  };
  const sentAt = trip?.sentAt ?? now;
  const blockedUntil = Math.max(state.blockedUntil, rate?.retryAt ?? -Infinity);
  // An answer to a later request was applied already.
  if (sentAt < state.heardUpTo) return { ...state, blockedUntil, left: stillLeft(state, rate) };
  const heard = { ...state, blockedUntil, heardUpTo: sentAt };
  const announced = rate === null ? heard : announce(heard, rate, sentAt, now);
  const known = { ...announced, counts: countsOf(announced.counts, ratesOf(announced, now)) };
  return { ...known, left: heldBy(known, rate, flying, sentAt, now) };
};
