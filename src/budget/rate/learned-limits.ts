// Learns from refusals the limits that the service does not announce: requests in flight, a smaller burst, or a smaller window. Pure, but
// for the first two functions, which store the limiter in a file for the next process.

import { z } from "zod";
import { replaceFile } from "../../core/files/own-files.ts";
import { readNote } from "../../core/state/shared-file.ts";
import { assumeSlower } from "./assumed-rate.ts";
import type { Proof } from "./limiter.ts";
import { type Learned, type LimiterState, limiterSchema, startLimiter } from "./limiter-state.ts";
import { answeredSince, limitsAt, type SharedLimiter, startShared } from "./windows.ts";

// What a process learned of the service's limits, kept for the next one in a file of the data directory: a service that
// refuses a burst refuses it once, and requests of the last minute count in the next sync, too. A loss of the file costs a
// refusal at most, so that no fault of it ends a run.

const WEEK_MS = 7 * 86_400_000;

/** `organization`: see organizationKey; a limit belongs to it. */
const rememberedSchema = z.object({ organization: z.string(), limiter: limiterSchema });

/** The limiter that the file holds for this organization, without what is too old to hold; else an empty one. */
export const recallLimiter = async (file: string, organization: string, now: number): Promise<SharedLimiter> => {
  const stored = await readNote({ path: file, schema: rememberedSchema }).catch(() => null);
  if (stored?.organization !== organization || stored.limiter.grantedAt < now - WEEK_MS) return startShared();
  const { assumed, steppedAt, loweredFrom, retried } = startLimiter(null);
  const { limiter } = stored;
  // A rate that nobody names is tried anew after a while: the plan may be a faster one by now.
  const guess = limiter.steppedAt < now - WEEK_MS ? { assumed, steppedAt, loweredFrom, retried } : {};
  // The first request goes alone: others may have used the limit meanwhile, and the network may be another one.
  return { limiter: { ...limiter, ...guess, heardUpTo: -Infinity, fastestMs: null, trips: 0 }, flights: [] };
};

/** Keeps the limiter for the next process. Never rejects. */
export const rememberLimiter = async (file: string, organization: string, shared: SharedLimiter): Promise<void> => {
  if (shared.limiter.grantedAt === -Infinity) return;
  // Without the folder there is no mirror to keep it for.
  await replaceFile(file, JSON.stringify({ organization, limiter: shared.limiter })).catch(() => undefined);
};

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
  /** What it counts, as src/api/limits/quota-signs.ts finds it. */
  readonly cause: "rate" | "in-flight" | "unclear";
  /** Time that the service named; null: none. `untilMs` is later after several refusals in a row. */
  readonly namedAt: number | null;
}

const learn = (state: LimiterState, more: Partial<Learned>, now: number): LimiterState => ({
  ...state,
  learned: { ...(limitsAt(state, now).learned ?? NOTHING), ...more, at: now },
});

const fewerInFlight = (state: LimiterState, { inFlight }: Proof, isNamed: boolean, now: number): LimiterState => {
  const most = Math.max(1, Math.min(inFlight - 1, limitsAt(state, now).learned?.inFlight ?? Infinity));
  return learn({ ...state, provenInFlight: Math.min(state.provenInFlight, most) }, { inFlight: most, isNamed }, now);
};

/** As many requests as the window held since the last refusal: announced or not, it allows no more. */
const smallerWindow = (state: LimiterState, since: number, now: number): LimiterState => {
  const { rate, window } = limitsAt(state, now);
  const { limit, windowMs } = rate;
  const held = answeredSince(state.counts, windowMs, Math.max(since, now - windowMs));
  if (held < limit * TOO_FEW) return state;
  const least = window === null ? Infinity : Math.floor(limit * LESS);
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
  const { speed, learned } = limitsAt(state, now);
  const isToken = refusal.namedAt === null || refusal.namedAt - now <= TOKEN_INTERVALS / speed + ROUNDING_MS;
  const burst = learned?.burst ?? null;
  const isKept = burst !== null && proof.level <= burst;
  if (isToken && !isKept) return smallerBurst(state, proof, now);
  // Others may have used the rest of a window, which the service's own count shows; once is no proof.
  if (state.left?.isLess === true && state.unexplained === 0) return { ...state, unexplained: 1 };
  const noted = { ...state, unexplained: state.unexplained + 1 };
  const smaller = smallerWindow(noted, since, now);
  // Too few requests for any window: the bucket is smaller still.
  return smaller === noted && isToken ? smallerBurst(noted, proof, now) : smaller;
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
  const isGuessed = refusal.cause === "unclear" && isNewFlight && !(isNewBurst && refusal.namedAt !== null);
  const isInFlight = refusal.cause === "in-flight" || isGuessed;
  const waits = !isInFlight || refusal.namedAt !== null;
  const blocked = {
    ...state,
    blockedUntil: waits ? Math.max(state.blockedUntil, refusal.untilMs) : state.blockedUntil,
  };
  if ((proof?.at ?? now) <= state.refusedAt) return blocked;
  const isCalm = now - state.refusedAt >= CALM_MS;
  const noted = { ...blocked, refusedAt: now, unexplained: isCalm ? 0 : state.unexplained };
  if (isInFlight && proof !== null) return fewerInFlight(noted, proof, refusal.cause === "in-flight", now);
  if (limitsAt(state, now).isAssumed) {
    const sentIn = (ms: number) => answeredSince(state.counts, 60_000, now - ms);
    return { ...noted, ...assumeSlower(state, sentIn, { now, isCalm }) };
  }
  if (proof === null || wasHeld) return noted;
  // One request alone was refused: requests in flight were not the reason before.
  const isGuess = noted.learned?.isNamed === false && noted.learned.inFlight !== null;
  const known = isGuess ? learn(noted, { inFlight: null }, noted.learned?.at ?? now) : noted;
  return slower(known, refusal, proof, state.refusedAt, now);
};
