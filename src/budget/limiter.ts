// Rate limiter: when the next request may leave. Pure: state in, state out; throttle.ts keeps it.
// Two rules hold at once. Requests are spaced evenly, so that the service sees no burst. And no window holds more than its
// limit, whenever its requests arrive: a request counts from the latest moment at which it may have arrived.
// What the service says is left comes on top, where it is more than this program sent (someone else uses the token).
import type { RateInfo } from "../api/outcome.ts";
import { FASTEST_PLAN, planWithin } from "./plans.ts";
import { perMinute, type Rate, slowest, spacingMs } from "./rate.ts";
import { countBetween, countOne, countWithin, moveOne, roomAt, type Tally, tallySpan } from "./tallies.ts";
import { refusedUsage, sentOne, type UsageWatch, usedIn, watchUsage } from "./usage-watch.ts";

/** How much idle time may be made up for, as a share of the window: less than the margin of the spacing. */
const CATCH_UP = 0.0025;
/** How much lateness of timers may be made up for: this share of the window, and in short windows this long. */
const LATE_SHARE = 0.05;
const LATE_MS = 250;
const MOST_LATE_MS = 5_000;
const MINUTE_MS = 60_000;
/** Without an answer to the first request for this long, the next one goes anyway. */
const FIRST_ANSWER_MS = 30_000;
/** Refusals of requests that left together count as one reason to slow down. */
const STEP_PAUSE_MS = 10_000;
/** A refusal makes careful for this long. */
const CALM_MS = 600_000;
/** What each refusal leaves of the lateness that is made up for, and of the limit, down to a least share of it. */
const CALM_CATCH_UP = 0.25;
const CALM_LIMIT = 0.97;
const LEAST_LIMIT = 0.8;
/** A service's own figure of what is left holds requests back at least this long. */
const LEAST_HOLD_MS = 200;
/** Clocks of requests and answers are read a little apart. */
const READING_MS = 20;

export interface LimiterState {
  /** Requests per minute that the user set; null: take what the service says. */
  readonly configured: number | null;
  /** The slowest limit that the service's headers name. */
  readonly learned: Rate | null;
  /** Further limits that they name. */
  readonly also: readonly Rate[];
  /** Requests per minute to go by while neither is known. */
  readonly assumed: number;
  /** Slot of the latest request, ms since the epoch; the next one is a spacing later, at the rate then in force. */
  readonly slot: number;
  /** Requests of the latest window, oldest first. */
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
  /** What the service's own counting reveals; null: it said nothing yet. */
  readonly watch: UsageWatch | null;
  /** Shortest time from a request to its answer, ms. */
  readonly fastestMs: number | null;
  /** When the request left whose answer was taken in last: an older one knows less. */
  readonly heardUpTo: number;
  /** Refusals for speed, those of requests that left together counted once, and until when they make careful. */
  readonly refusals: number;
  readonly calmUntil: number;
}

/** What the next request waits for. */
export type WaitReason = "pace" | "first-answer" | "remaining" | "refused";

/** When a request left and when its answer was there, ms since the epoch. */
export interface Trip {
  readonly sentAt: number;
  readonly answeredAt: number;
}

export const startLimiter = (configured: number | null): LimiterState => ({
  configured,
  learned: null,
  also: [],
  assumed: FASTEST_PLAN,
  slot: -Infinity,
  sent: [],
  blockedUntil: -Infinity,
  spare: null,
  refilledAt: -Infinity,
  slowedAt: -Infinity,
  aloneUntil: -Infinity,
  started: false,
  watch: null,
  fastestMs: null,
  heardUpTo: -Infinity,
  refusals: 0,
  calmUntil: -Infinity,
});

/** The rate whose window is counted request by request. */
const counted = ({ configured, learned, assumed }: LimiterState): Rate => learned ?? perMinute(configured ?? assumed);

/** All other rates that must hold. Before the first answer nothing is known: then no more than a published plan allows. */
const others = ({ configured, learned, also, assumed, heardUpTo }: LimiterState): readonly Rate[] => [
  ...also,
  ...(configured !== null && learned !== null ? [perMinute(configured)] : []),
  ...(heardUpTo === -Infinity ? [perMinute(assumed)] : []),
];

/** The rate in force: the slowest of what the user set and what the service says. */
const rateOf = (state: LimiterState): Rate => slowest([counted(state), ...others(state)]) ?? counted(state);

/** Requests per minute that are aimed at. */
export const ratePerMinute = (state: LimiterState): number => MINUTE_MS / spacingMs(rateOf(state));

/** Length of the window that the rate in force counts in, ms. */
export const windowMs = (state: LimiterState): number => rateOf(state).windowMs;

const dueAt = (state: LimiterState): number => state.slot + spacingMs(rateOf(state));

/** Refusals that still make careful. */
const recentRefusals = ({ refusals, calmUntil }: LimiterState, now: number): number => (now < calmUntil ? refusals : 0);

/** How many requests a window may hold. */
const mostInWindow = (state: LimiterState): number => {
  const { limit } = counted(state);
  const share = Math.max(LEAST_LIMIT, CALM_LIMIT ** recentRefusals(state, state.slot));
  return share < 1 ? Math.max(1, Math.floor(limit * share)) : limit;
};

/** When the next request may leave, ms since the epoch (a moment in the past: now), and what it waits for. */
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

/** How much lateness may be made up for, ms. Rates that are not counted must hold by their spacing alone. */
const catchUpMs = (state: LimiterState, now: number): number => {
  const spacing = spacingMs(rateOf(state));
  const slack = others(state).map(({ limit, windowMs }) => (limit * spacing - windowMs) / 2);
  const { windowMs } = counted(state);
  const most = Math.min(Math.max(windowMs * LATE_SHARE, Math.min(LATE_MS, windowMs / 4)), MOST_LATE_MS);
  return Math.max(0, Math.min(most * CALM_CATCH_UP ** recentRefusals(state, now), ...slack));
};

/** The slot of a request that leaves at `now`: late is late, but time without anything to send is not made up for. */
const slotAt = (state: LimiterState, now: number): number => {
  const most = catchUpMs(state, now);
  const due = dueAt(state);
  return now - due <= most ? due : now - Math.min(most, counted(state).windowMs * CATCH_UP);
};

/** Tallies are kept a little longer than their window, for requests that the service counts late. */
const keepMs = (windowMs: number): number => windowMs * 1.3 + 5_000;

/** What the service has left after one more request. Where it had nothing left, its reset lets one go to ask. */
const spareAfter = ({ spare, refilledAt }: LimiterState, windowMs: number, now: number) => {
  if (spare === null) return { spare: null, refilledAt };
  if (now < refilledAt) return { spare: spare - 1, refilledAt };
  return { spare: 0, refilledAt: now + Math.min(windowMs, FIRST_ANSWER_MS) };
};

/** A request leaves at `now`, which is not before nextSlot. */
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

/** An answer that took longer than the fastest: its request may have arrived as much later. */
const withTrip = (state: LimiterState, { sentAt, answeredAt }: Trip, now: number): LimiterState => {
  const tookMs = Math.max(0, answeredAt - sentAt);
  const fastestMs = Math.min(state.fastestMs ?? tookMs, tookMs);
  const lateMs = (tookMs - fastestMs) * (state.watch?.lateShare ?? 1);
  const { windowMs } = counted(state);
  return { ...state, fastestMs, sent: moveOne(state.sent, sentAt, lateMs, windowMs, keepMs(windowMs), now) };
};

/** The rates that headers name, and what their figures reveal about a window that they do not name. */
const withRates = (state: LimiterState, rate: RateInfo, { sentAt }: Trip, now: number): LimiterState => {
  const { limit, remaining, resetsAt } = rate;
  if (limit === null || limit < 1) return state;
  const reading = { limit, windowMs: rate.windowMs, remaining, resetsAt, sentAt, now };
  const watch = watchUsage(state.watch, reading, rateOf(state), recentRefusals(state, now) > 0 ? 0.5 : 0);
  return { ...state, watch, learned: { limit, windowMs: watch.windowMs }, also: rate.also ?? [] };
};

/** Are the requests that the service counts as used all our own? Then the rules for windows are enough. */
const isAlone = (
  { watch, sent, fastestMs }: LimiterState,
  remaining: number,
  { sentAt, answeredAt }: Trip,
): boolean => {
  const used = watch === null ? null : usedIn(watch, remaining);
  if (watch === null || used === null) return false;
  const lateMs = answeredAt - sentAt - (fastestMs ?? 0) + READING_MS + 2 * tallySpan(watch.windowMs);
  return countBetween(sent, sentAt - watch.windowMs - lateMs, Infinity) >= used;
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
  trip: Trip | null = null,
): LimiterState => {
  const heard: LimiterState = { ...(trip === null ? state : withTrip(state, trip, now)), aloneUntil: -Infinity };
  if (rate === null) return { ...heard, heardUpTo: Math.max(state.heardUpTo, trip?.sentAt ?? now) };
  const { remaining, resetsAt, retryAt } = rate;
  const blocked = { ...heard, blockedUntil: Math.max(state.blockedUntil, retryAt ?? -Infinity) };
  const { sentAt, answeredAt } = trip ?? { sentAt: now, answeredAt: now };
  // Overtaken on the way: an answer to a later request has told more.
  if (sentAt < state.heardUpTo) return blocked;
  const next = withRates({ ...blocked, heardUpTo: sentAt }, rate, { sentAt, answeredAt }, now);
  if (remaining === null || resetsAt === null) return next;
  if (isAlone(next, remaining, { sentAt, answeredAt })) return { ...next, spare: null };
  const uncertain = Math.max(inFlight, countBetween(next.sent, sentAt, Infinity));
  return { ...next, spare: remaining - uncertain, refilledAt: Math.max(resetsAt, now + LEAST_HOLD_MS) };
};

/**
 * The service refused a request as too fast: none leaves before `untilMs`. A rate that nobody named was guessed too
 * high: it becomes that of the fastest published plan that allows as many requests as went well.
 */
export const backOff = (state: LimiterState, untilMs: number, now: number): LimiterState => {
  const guessed = state.configured === null && state.learned === null;
  const first = now - state.slowedAt >= STEP_PAUSE_MS;
  return {
    ...state,
    aloneUntil: -Infinity,
    blockedUntil: Math.max(state.blockedUntil, untilMs),
    assumed: guessed && first ? planWithin(state.assumed, countWithin(state.sent, MINUTE_MS, now)) : state.assumed,
    slowedAt: first ? now : state.slowedAt,
    watch: first ? refusedUsage(state.watch) : state.watch,
    refusals: first ? recentRefusals(state, now) + 1 : state.refusals,
    calmUntil: now + CALM_MS,
  };
};
