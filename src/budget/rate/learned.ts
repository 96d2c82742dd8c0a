// What refusals show beyond what the service announces: requests in flight, a smaller burst, or a smaller window. Pure.
import { assumeSlower } from "./assumed-rate.ts";
import type { Proof } from "./limiter.ts";
import type { Learned, LimiterState } from "./limiter-state.ts";
import { burstOf, inFlightOf, isAssumed, learnedOf, rateOf, windowOf } from "./rates-in-force.ts";
import { answeredSince, speedOf } from "./windows.ts";

/** Duration of caution after a refusal. */
export const CALM_MS = 600_000;
/** Intervals of a bucket within which its next token comes; a wait may be rounded up to the second. */
const TOKEN_INTERVALS = 2;
const ROUNDING_MS = 1_000;
/** Share of a bucket that is used: requests arrive earlier or later than they are sent. */
const USED_SHARE = 0.9;
/** A smaller window that is refused again is smaller by this share. */
const LESS = 0.9;
/** After fewer requests than this share of a limit, a refusal shows nothing about it. */
const TOO_FEW = 0.1;

const NOTHING: Learned = { burst: null, window: null, inFlight: null, isNamed: false, at: -Infinity };

/** A refusal of a request. Times in ms since the epoch. */
export interface Refusal {
  readonly untilMs: number;
  /** What it counts, as src/api/limits/refusal-cause.ts finds it. */
  readonly cause: "rate" | "in-flight" | "unclear";
  /** The service named `untilMs`. */
  readonly isNamed: boolean;
}

const learn = (state: LimiterState, more: Partial<Learned>, now: number): LimiterState => ({
  ...state,
  learned: { ...(learnedOf(state, now) ?? NOTHING), ...more, at: now },
});

const fewerInFlight = (state: LimiterState, { inFlight }: Proof, isNamed: boolean, now: number): LimiterState => {
  const most = Math.max(1, Math.min(inFlight - 1, inFlightOf(state, now) ?? Infinity));
  return learn({ ...state, provenInFlight: Math.min(state.provenInFlight, most) }, { inFlight: most, isNamed }, now);
};

/** As many requests as the window held since the last refusal: announced or not, it allows no more. */
const smallerWindow = (state: LimiterState, since: number, now: number): LimiterState => {
  const { limit, windowMs } = rateOf(state, now);
  const held = answeredSince(state.counts, windowMs, Math.max(since, now - windowMs));
  if (held < limit * TOO_FEW) return state;
  const least = windowOf(state, now) === null ? Infinity : Math.floor(limit * LESS);
  return learn(state, { window: { limit: Math.max(1, Math.min(held, least)), windowMs } }, now);
};

const smallerBurst = (state: LimiterState, { level }: Proof, now: number): LimiterState => {
  const burst = Math.max(1, Math.floor(Math.min(state.provenBurst, level - 1) * USED_SHARE));
  return learn(state, { burst }, now);
};

/**
 * A refusal for the rate, though the windows had room. A short wait is that for a bucket's next token; a longer one, or a
 * bucket that is refused although it was kept, that for the end of a window.
 */
const slower = (before: LimiterState, refusal: Refusal, proof: Proof, since: number, now: number): LimiterState => {
  // A burst as large is tried with few requests in flight again.
  const state = { ...before, provenBurst: Math.min(before.provenBurst, proof.level - 1) };
  const speed = speedOf(rateOf(state, now));
  const isToken = !refusal.isNamed || refusal.untilMs - now <= TOKEN_INTERVALS / speed + ROUNDING_MS;
  const isKept = proof.level <= (burstOf(state, now) ?? Infinity) && burstOf(state, now) !== null;
  if (isToken && !isKept) return smallerBurst(state, proof, now);
  // Others may have used the rest of a window, which the service's own count shows; once is no proof.
  if (state.left?.isLess === true && state.unexplained === 0) return { ...state, unexplained: 1 };
  return smallerWindow({ ...state, unexplained: state.unexplained + 1 }, since, now);
};

/**
 * Applies a refusal. Refused requests that were granted before an earlier refusal show nothing new: they only wait.
 * `wasHeld`: the service's own count was less than this limiter's already, so that others explain the refusal.
 */
export const refuse = (
  state: LimiterState,
  refusal: Refusal,
  proof: Proof | null,
  wasHeld: boolean,
  now: number,
): LimiterState => {
  const flew = proof?.inFlight ?? 1;
  const isNewFlight = flew > Math.max(1, state.provenInFlight);
  const isNewBurst = (proof?.level ?? 0) > state.provenBurst;
  const isGuessed = refusal.cause === "unclear" && isNewFlight && !(isNewBurst && refusal.isNamed);
  const isInFlight = refusal.cause === "in-flight" || isGuessed;
  const waits = !isInFlight || refusal.isNamed;
  const blocked = {
    ...state,
    blockedUntil: waits ? Math.max(state.blockedUntil, refusal.untilMs) : state.blockedUntil,
  };
  if ((proof?.at ?? now) <= state.refusedAt) return blocked;
  const isCalm = now - state.refusedAt >= CALM_MS;
  const noted = { ...blocked, refusedAt: now, unexplained: isCalm ? 0 : state.unexplained };
  if (isInFlight && proof !== null) return fewerInFlight(noted, proof, refusal.cause === "in-flight", now);
  if (isAssumed(state)) {
    const sentIn = (ms: number) => answeredSince(state.counts, 60_000, now - ms);
    return { ...noted, ...assumeSlower(state, sentIn, { now, isCalm }) };
  }
  if (proof === null || wasHeld) return noted;
  // One request alone was refused: requests in flight were not the reason before.
  const isGuess = noted.learned?.isNamed === false && noted.learned.inFlight !== null;
  const known = isGuess ? learn(noted, { inFlight: null }, noted.learned?.at ?? now) : noted;
  return slower(known, refusal, proof, state.refusedAt, now);
};
