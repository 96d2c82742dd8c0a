// Estimates the length of the service's rate-limit window, where the service does not announce it, from the `remaining` and
// `reset` of responses. Also learns how much of a response's delay passes before the service counts its request. Pure.
// Until the window is known, the limiter sends what `remaining` allows, and waits for the reset when nothing remains.
// A stretch is a span of time a little longer than a window. Of each stretch this file compares the requests sent with the
// most that the service counted as used. At a steady pace a window holds pace x window requests, which gives the window.
import type { Rate } from "./rate.ts";

export interface UsageWatch {
  /** Requests per window, as reported. */
  readonly limit: number;
  /** The window as announced, or as estimated. */
  readonly windowMs: number;
  readonly announced: boolean;
  /** True: the window is announced, estimated from requests, or a minute as resets suggest. False: it is a first guess. */
  readonly found: boolean;
  /** The longest reset on which two consecutive responses agreed; no window is shorter. */
  readonly atLeastMs: number;
  readonly lastResetMs: number | null;
  /** The moment of that reset, ms since the epoch. */
  readonly lastResetsAt: number | null;
  /** An estimated window shorter than this was refused. */
  readonly refusedMs: number;
  /** Time of that refusal, ms since the epoch; null: there was none. */
  readonly refusedAt: number | null;
  /** Start of the present stretch, ms since the epoch. */
  readonly since: number;
  /** Requests sent in the present stretch. */
  readonly sent: number;
  /** Most requests that the service counted as used in the present stretch. */
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
/** Of the limit: if more than MUCH_UNUSED stays unused, `lateShare` decreases; if less than LITTLE_UNUSED, it increases. */
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

/** First guess: a minute (API.md, "Limits"), or the time until the reset if that is longer. */
const firstWindow = (resetMs: number | null): number => Math.min(Math.max(resetMs ?? 0, MINUTE_MS), HOUR_MS);

/**
 * Time until the reset, from the moment when the service counted the request, which lies between request and response. Long
 * times are overestimated, because they count from the request.
 */
const resetOf = ({ resetsAt, sentAt, now }: UsageReading): number | null => {
  if (resetsAt === null) return null;
  return resetsAt - now < SHORT_MS ? wholeSeconds(resetsAt - now) : resetsAt - sentAt;
};

/** True when no reset contradicts a guess of a minute or more: none is known, or the reset is at least half a minute away. */
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

/** New `lateShare`, after a stretch in which at least `unused` requests of the limit were left. */
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
 * The watch after one response. `pace`: the rate in force. `leastLateShare`: least value of `lateShare`.
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
 * The watch after a refusal. `lateShare` is 1 again. An estimated window was too short, so it becomes longer and never that
 * short again. There are two exceptions: too few requests were sent in it (`sentIn(ms)`: requests of the latest `ms`), so
 * the service refused for another reason; or the window already got longer by a refusal within it.
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
