// Rate limiter: when the next request may leave. Pure: state in, state out; throttle.ts keeps it.
// Requests are spaced evenly (GCRA), so that neither a sliding nor a fixed window of the service ever holds more than
// its limit; what the service says in its headers comes on top.
import type { RateInfo } from "../api/outcome.ts";
import { FASTEST_PLAN, slowerPlan } from "./plans.ts";

/** Share of the time between two requests that is added as a margin: 99% of the allowed rate is used. */
const MARGIN = 1.01;
/** How much lateness may be caught up, as a share of the window. Less than the margin, so the limit still holds. */
const CATCH_UP = 0.0025;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Without an answer to the first request for this long, the next one goes anyway. */
const FIRST_ANSWER_MS = 30_000;
/** Refusals of requests that left together count as one reason to slow down. */
const STEP_PAUSE_MS = 10_000;
/** A window of the service reaches further back than ours by as long as a request takes to get there. */
const OVERLAP_MS = 2_000;

/** `limit` requests per `windowMs`. */
interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** Requests that left within a sixtieth of a window from `from` on, ms since the epoch. */
interface Tally {
  readonly from: number;
  readonly count: number;
}

export interface LimiterState {
  /** Requests per minute that the user set; null: take what the service says. */
  readonly configured: number | null;
  /** What the service's headers said last. */
  readonly learned: Rate | null;
  /** Requests per minute to go by while neither is known. */
  readonly assumed: number;
  /** Slot of the latest request, ms since the epoch; the next one is a spacing later, at the rate then in force. */
  readonly slot: number;
  /** How many requests left in each sixtieth of the last window, oldest first. */
  readonly sent: readonly Tally[];
  /** No request before then: Retry-After, or a refusal. */
  readonly blockedUntil: number;
  /** Requests the service still takes before `refilledAt`, those in flight subtracted; null: pacing alone will do. */
  readonly spare: number | null;
  readonly refilledAt: number;
  readonly slowedAt: number;
  /** Without a configured rate the first request goes alone, until its headers are known or this moment passed. */
  readonly aloneUntil: number;
  readonly started: boolean;
}

/** What the next request waits for. */
export type WaitReason = "pace" | "first-answer" | "remaining" | "refused";

export const startLimiter = (configured: number | null): LimiterState => ({
  configured,
  learned: null,
  assumed: FASTEST_PLAN,
  slot: -Infinity,
  sent: [],
  blockedUntil: -Infinity,
  spare: null,
  refilledAt: -Infinity,
  slowedAt: -Infinity,
  aloneUntil: -Infinity,
  started: false,
});

const spacingMs = ({ limit, windowMs }: Rate): number => (windowMs / limit) * MARGIN;

const perMinute = (limit: number): Rate => ({ limit, windowMs: MINUTE_MS });

/** The rate in force: the slower of what the user set and what the service says. */
const rateOf = ({ configured, learned, assumed }: LimiterState): Rate => {
  if (configured === null) return learned ?? perMinute(assumed);
  const set = perMinute(configured);
  return learned !== null && spacingMs(learned) > spacingMs(set) ? learned : set;
};

/** Requests per minute that are aimed at. */
export const ratePerMinute = (state: LimiterState): number => MINUTE_MS / spacingMs(rateOf(state));

/** Length of the window that the rate in force counts in, ms. */
export const windowMs = (state: LimiterState): number => rateOf(state).windowMs;

const dueAt = (state: LimiterState): number => state.slot + spacingMs(rateOf(state));

/** When the next request may leave, ms since the epoch (a moment in the past: now), and what it waits for. */
export const nextSlot = (state: LimiterState): { readonly at: number; readonly why: WaitReason } => {
  const emptyUntil = state.spare !== null && state.spare <= 0 ? state.refilledAt : -Infinity;
  const waits = [
    { at: dueAt(state), why: "pace" },
    { at: state.aloneUntil, why: "first-answer" },
    { at: emptyUntil, why: "remaining" },
    { at: state.blockedUntil, why: "refused" },
  ] as const;
  return waits.reduce<{ at: number; why: WaitReason }>(
    (latest, wait) => (wait.at > latest.at ? wait : latest),
    waits[0],
  );
};

const tallySpan = (windowMs: number): number => windowMs / 60;

/** Tallies that reach into the window before `now`. */
const recent = (sent: readonly Tally[], windowMs: number, now: number): readonly Tally[] =>
  sent.slice(sent.findLastIndex(({ from }) => from + tallySpan(windowMs) <= now - windowMs - OVERLAP_MS) + 1);

const countOne = (sent: readonly Tally[], windowMs: number, now: number): readonly Tally[] => {
  const kept = recent(sent, windowMs, now);
  const last = kept.at(-1);
  return last !== undefined && now < last.from + tallySpan(windowMs)
    ? [...kept.slice(0, -1), { from: last.from, count: last.count + 1 }]
    : [...kept, { from: now, count: 1 }];
};

const sentWithin = ({ sent }: LimiterState, windowMs: number, now: number): number =>
  recent(sent, windowMs, now).reduce((sum, { count }) => sum + count, 0);

/** A request leaves at `now`, which is not before nextSlot. */
export const takeSlot = (state: LimiterState, now: number): LimiterState => {
  const refilled = now >= state.refilledAt;
  return {
    ...state,
    // A slot that was used a little late moves the next one by less: timers always fire late, never early.
    slot: Math.max(dueAt(state), now - rateOf(state).windowMs * CATCH_UP),
    sent: countOne(state.sent, rateOf(state).windowMs, now),
    spare: refilled || state.spare === null ? null : state.spare - 1,
    aloneUntil: state.configured === null && !state.started ? now + FIRST_ANSWER_MS : state.aloneUntil,
    started: true,
  };
};

/** Window of a limit that came without one: a minute as API.md states it, unless its reset lies further away. */
const windowOf = (rate: RateInfo, known: Rate | null, now: number): number => {
  if (rate.windowMs !== null) return rate.windowMs;
  const untilReset = rate.resetsAt === null ? 0 : rate.resetsAt - now;
  // Resets are often rounded up, and near the end of an hour's window they look like a minute's.
  const guess = untilReset <= MINUTE_MS * 1.1 ? MINUTE_MS : HOUR_MS;
  return known?.limit === rate.limit ? Math.max(guess, known.windowMs) : guess;
};

/**
 * Takes over what the headers of an answer said. `inFlight`: requests sent that have no answer yet, this one not
 * counted; the service may not have subtracted them from `remaining`. null: the answer said nothing.
 */
export const observeRate = (
  state: LimiterState,
  rate: RateInfo | null,
  inFlight: number,
  now: number,
): LimiterState => {
  const heard: LimiterState = { ...state, aloneUntil: -Infinity };
  if (rate === null) return heard;
  const { limit, remaining, resetsAt, retryAt } = rate;
  const learned = limit === null || limit < 1 ? state.learned : { limit, windowMs: windowOf(rate, state.learned, now) };
  const next: LimiterState = {
    ...heard,
    learned,
    blockedUntil: Math.max(state.blockedUntil, retryAt ?? -Infinity),
  };
  if (remaining === null || resetsAt === null || resetsAt <= now) return next;
  // When all that was used up was used by ourselves, even spacing keeps the limit by itself. Waiting for a reset that
  // some services put a whole window away would then halve the rate for nothing. Else someone else draws on it too.
  const usedUp = learned === null ? Infinity : learned.limit - remaining;
  const alone = learned !== null && sentWithin(state, learned.windowMs, now) >= usedUp;
  return { ...next, spare: alone ? null : remaining - inFlight, refilledAt: resetsAt };
};

/**
 * The service refused a request as too fast: none leaves before `untilMs`. A rate that nobody named was guessed too
 * high: it becomes that of the next published plan.
 */
export const backOff = (state: LimiterState, untilMs: number, now: number): LimiterState => {
  const guessed = state.configured === null && state.learned === null;
  const slower = guessed && now - state.slowedAt >= STEP_PAUSE_MS;
  return {
    ...state,
    aloneUntil: -Infinity,
    blockedUntil: Math.max(state.blockedUntil, untilMs),
    assumed: slower ? slowerPlan(state.assumed) : state.assumed,
    slowedAt: slower ? now : state.slowedAt,
  };
};
