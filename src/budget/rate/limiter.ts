// Rate limiter: decides when the next request may be sent. Pure: throttle.ts keeps the state.
// Requests are spaced evenly, so that the service sees no burst. No window exceeds its limit, whenever its requests
// arrive: a request counts from the latest time at which it may have arrived. The service's `remaining` also limits,
// when it shows requests of others with the same token.
import type { RateInfo } from "../../api/outcome.ts";
import { assumeFaster, assumeSlower } from "./assumed-rate.ts";
import type { LimiterState } from "./limiter-state.ts";
import { perMinute, type Rate, slowest, spacingMs } from "./rate.ts";
import { countBetween, countOne, countWithin, moveOne, roomAt, tallySpan } from "./tallies.ts";
import { refusedUsage, sentOne, usedIn, watchUsage } from "./usage-watch.ts";

/** Idle time that may be caught up, as a share of the window; less than the margin of the spacing. */
const CATCH_UP = 0.0025;
/** Delay of timers that may be caught up: this share of the window, or this long in short windows. */
const LATE_SHARE = 0.05;
const LATE_MS = 250;
const MOST_LATE_MS = 5_000;
const MINUTE_MS = 60_000;
/** Wait for the first response; after this, the next request is sent anyway. */
const FIRST_ANSWER_MS = 30_000;
/** Refusals of requests sent together count as one reason to slow down. */
const STEP_PAUSE_MS = 10_000;
/** Duration of caution after a refusal. */
const CALM_MS = 600_000;
/** Factors per refusal for the delay that may be caught up and for the limit, and the lowest share of the limit. */
const CALM_CATCH_UP = 0.25;
const CALM_LIMIT = 0.97;
const LEAST_LIMIT = 0.8;
/** Shortest wait for the service's own `remaining`. */
const LEAST_HOLD_MS = 200;
/** A reset so close is the time of the next token: this many spacings, or this long because it is rounded. */
const SOON_SPACINGS = 2;
const SOON_MS = 1_000;
/** A reset may be rounded down by so much; at most this share of the window is waited for it. */
const ROUNDING_MS = 1_000;
const ROUNDING_SHARE = 0.05;
/** Difference between reading the clock for requests and for responses. */
const READING_MS = 20;

/** Reason why the next request waits. */
export type WaitReason = "pace" | "first-answer" | "remaining" | "refused";

/** Times when a request was sent and its response arrived, ms since the epoch. */
export interface Trip {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** The rate whose window is counted request by request. */
const counted = ({ configured, learned, assumed }: LimiterState): Rate => learned ?? perMinute(configured ?? assumed);

/** All other rates. Before the first response, no more than a published plan allows. */
const others = ({ configured, learned, also, assumed, heardUpTo }: LimiterState): readonly Rate[] => [
  ...also,
  ...(configured !== null && learned !== null ? [perMinute(configured)] : []),
  ...(heardUpTo === -Infinity ? [perMinute(assumed)] : []),
];

/** The rate in force: the slower of the user's setting and the service's limits. */
const rateOf = (state: LimiterState): Rate => slowest([counted(state), ...others(state)]) ?? counted(state);

/** Target in requests per minute. */
export const ratePerMinute = (state: LimiterState): number => MINUTE_MS / spacingMs(rateOf(state));

/** Window of the rate in force, ms. */
export const windowMs = (state: LimiterState): number => rateOf(state).windowMs;

const dueAt = (state: LimiterState): number => state.slot + spacingMs(rateOf(state));

/** Refusals that still cause caution. */
const recentRefusals = ({ refusals, calmUntil }: LimiterState, now: number): number => (now < calmUntil ? refusals : 0);

/** Most requests in a window. */
const mostInWindow = (state: LimiterState): number => {
  const { limit } = counted(state);
  const share = Math.max(LEAST_LIMIT, CALM_LIMIT ** recentRefusals(state, state.slot));
  return share < 1 ? Math.max(1, Math.floor(limit * share)) : limit;
};

/** Time when the next request may be sent, ms since the epoch (in the past: now), and the reason for waiting. */
export const nextSlot = (state: LimiterState): { readonly at: number; readonly why: WaitReason } => {
  const { windowMs } = counted(state);
  const emptyUntil = state.spare !== null && state.spare <= 0 ? state.refilledAt : -Infinity;
  const waits = [
    { at: Math.max(dueAt(state), roomAt(state.sent, windowMs, mostInWindow(state))), why: "pace" },
    { at: state.aloneUntil, why: "first-answer" },
    { at: emptyUntil, why: "remaining" },
    { at: state.blockedUntil, why: "refused" },
  ] as const;
  return waits.reduce<{ at: number; why: WaitReason }>(
    (latest, wait) => (wait.at > latest.at ? wait : latest),
    waits[0],
  );
};

/** Delay that may be caught up, ms. Rates that are not counted are kept by their spacing alone. */
const catchUpMs = (state: LimiterState, now: number): number => {
  const spacing = spacingMs(rateOf(state));
  const slack = others(state).map(({ limit, windowMs }) => (limit * spacing - windowMs) / 2);
  const { windowMs } = counted(state);
  const most = Math.min(Math.max(windowMs * LATE_SHARE, Math.min(LATE_MS, windowMs / 4)), MOST_LATE_MS);
  return Math.max(0, Math.min(most * CALM_CATCH_UP ** recentRefusals(state, now), ...slack));
};

/** Slot of a request sent at `now`: timer delays are caught up, idle time is not. */
const slotAt = (state: LimiterState, now: number): number => {
  const most = catchUpMs(state, now);
  const due = dueAt(state);
  return now - due <= most ? due : now - Math.min(most, counted(state).windowMs * CATCH_UP);
};

/** Tallies are kept a little longer than their window, for requests that the service counts late. */
const keepMs = (windowMs: number): number => windowMs * 1.3 + 5_000;

/** Remaining requests after one more. With none left, one request may be sent at the reset to ask. */
const spareAfter = ({ spare, refilledAt, askedAt }: LimiterState, windowMs: number, now: number) => {
  if (spare === null) return { spare: null, refilledAt, askedAt };
  if (now < refilledAt) return { spare: spare - 1, refilledAt, askedAt };
  return { spare: 0, refilledAt: now + Math.min(windowMs, FIRST_ANSWER_MS), askedAt: now };
};

/** Records a request sent at `now`, which is not before nextSlot. */
export const takeSlot = (state: LimiterState, now: number): LimiterState => {
  const { windowMs } = counted(state);
  return {
    ...state,
    slot: slotAt(state, now),
    sent: countOne(state.sent, now, windowMs, keepMs(windowMs), now),
    ...spareAfter(state, windowMs, now),
    watch: sentOne(state.watch),
    aloneUntil: state.configured === null && !state.started ? now + FIRST_ANSWER_MS : state.aloneUntil,
    started: true,
  };
};

/** A response slower than the fastest one: its request may have arrived later by the difference. */
const withTrip = (state: LimiterState, { sentAt, answeredAt }: Trip, now: number): LimiterState => {
  const tookMs = Math.max(0, answeredAt - sentAt);
  const fastestMs = Math.min(state.fastestMs ?? tookMs, tookMs);
  const lateMs = (tookMs - fastestMs) * (state.watch?.lateShare ?? 1);
  const { windowMs } = counted(state);
  return { ...state, fastestMs, sent: moveOne(state.sent, sentAt, lateMs, windowMs, keepMs(windowMs), now) };
};

/** Applies the rates in headers, and their evidence about an unnamed window. */
const withRates = (state: LimiterState, rate: RateInfo, { sentAt }: Trip, now: number): LimiterState => {
  const { limit, remaining, resetsAt } = rate;
  if (limit === null || limit < 1) return state;
  const reading = { limit, windowMs: rate.windowMs, remaining, resetsAt, sentAt, now };
  const watch = watchUsage(state.watch, reading, rateOf(state), recentRefusals(state, now) > 0 ? 0.5 : 0);
  const learned = watch.found ? { limit, windowMs: watch.windowMs } : state.learned;
  return { ...state, watch, learned, also: rate.also ?? [] };
};

/** True when the service's count of used requests includes only ours; the window rules then suffice. */
const isAlone = (
  { watch, sent, fastestMs }: LimiterState,
  remaining: number,
  { sentAt, answeredAt }: Trip,
): boolean => {
  const used = watch === null ? null : usedIn(watch, remaining);
  if (watch === null || used === null || !watch.found) return false;
  const lateMs = answeredAt - sentAt - (fastestMs ?? 0) + READING_MS + 2 * tallySpan(watch.windowMs);
  return countBetween(sent, sentAt - watch.windowMs - lateMs, Infinity) >= used;
};

/** After a refusal: what a reset in whole seconds may lack, where the window is long enough for it. */
const roundingMs = ({ watch }: LimiterState): number =>
  watch === null || watch.announced || watch.refusedMs === 0
    ? 0
    : Math.min(ROUNDING_MS, watch.windowMs * ROUNDING_SHARE);

/**
 * An estimated window may be wrong, so nothing remaining holds requests back until the next one fits, where that is
 * soon. A reset further away is the end of a whole window, and says nothing about the next request.
 */
const untilNextToken = (
  state: LimiterState,
  remaining: number,
  resetsAt: number,
  now: number,
): Pick<LimiterState, "spare" | "refilledAt"> => {
  const { watch, refilledAt } = state;
  const used = watch === null || watch.announced ? null : usedIn(watch, remaining);
  const spacing = spacingMs(rateOf(state));
  const soon = resetsAt - now <= Math.max(SOON_SPACINGS * spacing, SOON_MS);
  if (watch === null || used === null || used < watch.limit || !soon) return { spare: null, refilledAt };
  return { spare: 0, refilledAt: Math.max(resetsAt, now + spacing) + roundingMs(state) };
};

/** After an answer that does not tell what is left: an earlier figure is outdated once the answer is younger than its reset. */
const withoutFigure = (state: LimiterState, sentAt: number): LimiterState => {
  const { askedAt } = state;
  return askedAt === null || sentAt + READING_MS < askedAt ? state : { ...state, spare: null, askedAt: null };
};

/**
 * Applies the headers of a response. `inFlight`: other requests without a response, which the service may not have
 * subtracted from `remaining`. null: no rate headers.
 */
export const observeRate = (
  state: LimiterState,
  rate: RateInfo | null,
  inFlight: number,
  now: number,
  trip: Trip | null = null,
): LimiterState => {
  const sentIn = (ms: number) => countWithin(state.sent, ms, now);
  const faster = assumeFaster(state, sentIn, now - (state.calmUntil - CALM_MS));
  const answered: LimiterState = {
    ...(trip === null ? state : withTrip(state, trip, now)),
    ...faster,
    aloneUntil: -Infinity,
  };
  const { sentAt, answeredAt } = trip ?? { sentAt: now, answeredAt: now };
  if (rate === null) return withoutFigure({ ...answered, heardUpTo: Math.max(state.heardUpTo, sentAt) }, sentAt);
  const { remaining, resetsAt, retryAt } = rate;
  const blocked = { ...answered, blockedUntil: Math.max(state.blockedUntil, retryAt ?? -Infinity) };
  // A response to a later request was applied already.
  if (sentAt < state.heardUpTo) return blocked;
  const next = withRates({ ...blocked, heardUpTo: sentAt }, rate, { sentAt, answeredAt }, now);
  if (remaining === null || resetsAt === null) return withoutFigure(next, sentAt);
  if (isAlone(next, remaining, { sentAt, answeredAt }))
    return { ...next, askedAt: null, ...untilNextToken(next, remaining, resetsAt, now) };
  const uncertain = Math.max(inFlight, countBetween(next.sent, sentAt, Infinity));
  const used = next.watch === null ? null : usedIn(next.watch, remaining);
  const left = used === null ? remaining : Math.min(remaining, (next.watch?.limit ?? 0) - used);
  const refilledAt = Math.max(resetsAt + roundingMs(next), now + LEAST_HOLD_MS);
  return { ...next, spare: left - uncertain, refilledAt, askedAt: null };
};

/**
 * Applies a rate refusal: no request before `untilMs`. A guessed rate was too high: it becomes a published plan's rate
 * that fits the number of requests that succeeded.
 */
export const backOff = (state: LimiterState, untilMs: number, now: number): LimiterState => {
  const guessed = state.configured === null && state.learned === null;
  const first = now - state.slowedAt >= STEP_PAUSE_MS;
  const sentIn = (ms: number) => countWithin(state.sent, ms, now);
  return {
    ...state,
    aloneUntil: -Infinity,
    blockedUntil: Math.max(state.blockedUntil, untilMs + roundingMs(state)),
    ...(guessed && first ? assumeSlower(state, sentIn, { now, isCalm: now >= state.calmUntil }) : {}),
    slowedAt: first ? now : state.slowedAt,
    watch: first ? refusedUsage(state.watch, now, sentIn) : state.watch,
    refusals: first ? recentRefusals(state, now) + 1 : state.refusals,
    calmUntil: now + CALM_MS,
  };
};
