// Learns from `remaining` and `reset` how long an unnamed window is, and whether slow responses matter. Pure.
// Until it is found, the limiter sends what `remaining` allows, and waits for the reset when nothing remains.
// It watches the responses of a stretch, a little longer than a window. The highest number of requests that the
// service counted as used, compared with those sent, gives the window: at a steady pace a window holds pace x window
// requests.
import type { Rate } from "./rate.ts";

export interface UsageWatch {
  /** Requests per window, as reported. */
  readonly limit: number;
  /** The window as announced, or as estimated. */
  readonly windowMs: number;
  readonly announced: boolean;
  /** The window is announced, estimated from requests, or a minute as resets suggest; else nothing is known of it. */
  readonly found: boolean;
  /** The longest reset on which two consecutive responses agreed; no window is shorter. */
  readonly atLeastMs: number;
  readonly lastResetMs: number | null;
  /** The moment of that reset, ms since the epoch. */
  readonly lastResetsAt: number | null;
  /** An estimated window shorter than this was refused. */
  readonly refusedMs: number;
  /** When that was, ms since the epoch; null: never. */
  readonly refusedAt: number | null;
  /** Start of the present stretch, ms since the epoch. */
  readonly since: number;
  /** Requests sent in it. */
  readonly sent: number;
  /** Most requests that the service counted as used in it. */
  readonly mostUsed: number;
  /** `remaining` does not include the request of its own response. */
  readonly countsBefore: boolean;
  /** Share of a response's delay that is assumed to come before the service counted the request. */
  readonly lateShare: number;
}

/** One response, in the form needed here. Times in ms since the epoch. */
export interface UsageReading {
  readonly limit: number;
  /** null: not announced. */
  readonly windowMs: number | null;
  readonly remaining: number | null;
  readonly resetsAt: number | null;
  readonly sentAt: number;
  readonly now: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Most that rounding to whole seconds adds to a reset. */
const ROUNDING_MS = 1_000;
const SHORT_MS = 10_000;
/** In seconds. */
const ESTIMATE_ERROR = 0.25;
/** Length of a stretch in windows. */
const STRETCH = 1.25;
/** A stretch with fewer requests shows nothing. */
const FEWEST = 8;
/** An estimate within these factors of the present value changes nothing. */
const SHORTER = 0.92;
const LONGER = 1.04;
/** Most that one stretch changes the estimate, as a factor. */
const MOST_CHANGE = 4;
/** Delays count less when more than the first share of the limit stays unused, and more when less than the second. */
const MUCH_UNUSED = 0.05;
const LITTLE_UNUSED = 0.025;
const LATE_STEP = 0.25;
/** A window in which a request was refused is longer by at least this factor. */
const REFUSED = 1.1;
/** Share of the limit that must have been sent in such a window: others may have sent the rest. */
const EXPLAINED = 0.5;
/** A stretch counts as busy from this share of the rate in force. */
const BUSY = 0.6;
/** After two windows with less than this share of the requests they allow, a refusal shows nothing about the window. */
const IDLE = 0.1;
/** This many times more requests sent than counted, plus a few, prove that the service has forgotten some. */
const FORGOTTEN = 1.5;
const FORGOTTEN_MORE = 4;

/** Short windows are whole seconds; an estimate is slightly wrong in either direction. */
const wholeSeconds = (ms: number): number =>
  ms >= SHORT_MS ? ms : Math.max(1, Math.ceil(ms / ROUNDING_MS - ESTIMATE_ERROR)) * ROUNDING_MS;

/** An unnamed window is a minute (API.md, "Limits"), or as long as its reset if that is later. */
const firstWindow = (resetMs: number | null): number => Math.min(Math.max(resetMs ?? 0, MINUTE_MS), HOUR_MS);

/**
 * Distance of the reset when the service counted, somewhere between request and response. Long ones are
 * overestimated.
 */
const resetOf = ({ resetsAt, sentAt, now }: UsageReading): number | null => {
  if (resetsAt === null) return null;
  return resetsAt - now < SHORT_MS ? wholeSeconds(resetsAt - now) : resetsAt - sentAt;
};

/** Nothing contradicts a guess of a minute or more: no reset is known, or one is so far away. */
const looksLikeGuess = (resetMs: number | null): boolean => resetMs === null || resetMs >= MINUTE_MS / 2;

const startWatch = (reading: UsageReading): UsageWatch => {
  const resetMs = resetOf(reading);
  return {
    limit: reading.limit,
    windowMs: reading.windowMs ?? firstWindow(resetMs),
    announced: reading.windowMs !== null,
    found: reading.windowMs !== null || looksLikeGuess(resetMs),
    atLeastMs: 0,
    // `withReset` takes the reset of this response. Were it here, too, one response would agree with itself.
    lastResetMs: null,
    lastResetsAt: null,
    refusedMs: 0,
    refusedAt: null,
    since: reading.now,
    sent: 0,
    mostUsed: 0,
    countsBefore: false,
    lateShare: 1,
  };
};

/** Requests that the service counts as used; null: not reported. */
export const usedIn = (watch: UsageWatch, remaining: number | null): number | null =>
  remaining === null ? null : Math.max(0, watch.limit - remaining + (watch.countsBefore ? 1 : 0));

const withReset = (watch: UsageWatch, reading: UsageReading): UsageWatch => {
  const resetMs = resetOf(reading);
  if (resetMs === null) return watch;
  // One response may be wrong by chance; only agreement of two in a row counts: on a distance, or, while nothing else is
  // agreed, on one moment. Later that would only add the delays by which distances are overestimated.
  const lastMs = watch.lastResetMs ?? 0;
  const isSameMoment = Math.abs((reading.resetsAt ?? 0) - (watch.lastResetsAt ?? 0)) <= ROUNDING_MS;
  const agreed = isSameMoment && watch.atLeastMs === 0 ? Math.max(resetMs, lastMs) : Math.min(resetMs, lastMs);
  const atLeastMs = Math.min(Math.max(watch.atLeastMs, agreed), HOUR_MS);
  const longer = !watch.announced && atLeastMs > watch.atLeastMs;
  const windowMs = longer ? Math.max(watch.windowMs, atLeastMs) : watch.windowMs;
  const found = watch.found || looksLikeGuess(atLeastMs);
  return { ...watch, found, atLeastMs, lastResetMs: resetMs, lastResetsAt: reading.resetsAt, windowMs };
};

/** New share of delays, after a stretch in which at least `unused` of the limit was left. */
const lateShareAfter = ({ lateShare, limit }: UsageWatch, unused: number, least: number): number => {
  if (unused > Math.max(1, limit * MUCH_UNUSED)) return Math.max(least, lateShare - LATE_STEP);
  return unused < Math.max(0.5, limit * LITTLE_UNUSED) ? Math.min(1, lateShare + LATE_STEP) : lateShare;
};

const windowAfter = ({ windowMs, atLeastMs, refusedMs, mostUsed, sent }: UsageWatch, lastedMs: number): number => {
  const estimate = (mostUsed * lastedMs) / sent;
  if (estimate > windowMs * SHORTER && estimate < windowMs * LONGER) return windowMs;
  const shortest = windowMs > atLeastMs * LONGER && atLeastMs > 0 ? atLeastMs : windowMs / MOST_CHANGE;
  const changed = Math.min(Math.max(estimate, shortest), windowMs * MOST_CHANGE, HOUR_MS);
  // In a short window the rounding of its reset matters.
  const least = atLeastMs >= SHORT_MS ? atLeastMs : atLeastMs - ROUNDING_MS;
  return Math.max(wholeSeconds(changed), least, refusedMs);
};

/** Counts one sent request. */
export const sentOne = (watch: UsageWatch | null): UsageWatch | null =>
  watch === null ? null : { ...watch, sent: watch.sent + 1 };

/**
 * The watch after one response. `pace`: the rate in force. `leastLateShare`: lowest share of delays, as after a
 * refusal.
 */
export const watchUsage = (
  before: UsageWatch | null,
  reading: UsageReading,
  pace: Rate,
  leastLateShare: number,
): UsageWatch => {
  const announced = reading.windowMs !== null;
  const same = before !== null && before.limit === reading.limit && before.announced === announced;
  const known = same ? { ...before, windowMs: reading.windowMs ?? before.windowMs } : startWatch(reading);
  const countsBefore = known.countsBefore || (reading.remaining !== null && reading.remaining >= reading.limit);
  const watch = withReset({ ...known, countsBefore }, reading);
  const used = usedIn(watch, reading.remaining);
  // Without `remaining` nothing but the guess holds requests back.
  if (used === null) return { ...watch, found: true };
  const watched = { ...watch, mostUsed: Math.max(watch.mostUsed, used) };
  const { sent, mostUsed } = watched;
  const lastedMs = reading.now - watch.since;
  // A minute was the initial guess, and too long.
  const guessed = !announced && watch.windowMs > Math.max(watch.atLeastMs, ROUNDING_MS) * LONGER;
  const forgotten = guessed && sent >= mostUsed * FORGOTTEN + FORGOTTEN_MORE;
  const over = lastedMs >= watch.windowMs * STRETCH && sent >= FEWEST;
  if (!forgotten && !over) return watched;
  const next = { ...watched, since: reading.now, sent: 0, mostUsed: used };
  // A stretch with pauses shows nothing about the window.
  if (known.found && sent < (lastedMs / pace.windowMs) * pace.limit * BUSY) return next;
  return {
    ...next,
    found: true,
    lateShare: over ? lateShareAfter(watched, watch.limit - mostUsed, leastLateShare) : watch.lateShare,
    windowMs: announced ? watch.windowMs : windowAfter(watched, lastedMs),
  };
};

/**
 * After a refusal: delays count in full again. An estimated window was too short for good, unless too few requests were
 * sent in it (`sentIn`: the number of the latest time, ms): then something else was refused. Nor do further refusals within
 * the window say more than the first one.
 */
export const refusedUsage = (
  watch: UsageWatch | null,
  now: number,
  sentIn: (ms: number) => number,
): UsageWatch | null => {
  if (watch === null || watch.announced) return watch === null ? null : { ...watch, lateShare: 1 };
  // A first guess is too long rather than too short; the refusal only shows that resets come early.
  if (!watch.found) return { ...watch, lateShare: 1, refusedMs: 1 };
  const windows = (now - watch.since) / watch.windowMs;
  const isIdle = windows >= 2 && watch.sent < windows * watch.limit * IDLE;
  const windowMs = Math.min(watch.windowMs * REFUSED, HOUR_MS);
  const isExplained = sentIn(windowMs) >= watch.limit * EXPLAINED;
  const isSame = watch.refusedAt !== null && now - watch.refusedAt < watch.windowMs;
  if (isIdle || !isExplained || isSame) return { ...watch, lateShare: 1 };
  return { ...watch, lateShare: 1, windowMs, refusedMs: windowMs, refusedAt: now };
};
