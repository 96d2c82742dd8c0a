// Decides what follows from an attempt to send a message; no other file does. Pure.
import { headerTimeMs } from "../../core/time.ts";

/** How an attempt ended. `away`: no answer, with the reason. */
export type Attempt =
  | { readonly kind: "answer"; readonly status: number; readonly retryAfter: string | null }
  | { readonly kind: "away"; readonly detail: string };

export type Verdict =
  | { readonly kind: "sent" }
  | { readonly kind: "retry"; readonly nextAt: number; readonly detail: string }
  /** Never taken: a dead letter. */
  | { readonly kind: "dead"; readonly detail: string }
  /** The receiver wants no more messages. */
  | { readonly kind: "gone"; readonly detail: string };

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Wait after the first, second, … failed attempt, ms; after more, the last one. */
const WAITS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR];
const LONGEST_WAIT_MS = 24 * HOUR;
/** Share by which a wait is longer, by chance, so that many senders do not come back at once. */
const JITTER = 0.2;
/** Age from which a message is given up, and its least attempts. */
export const GIVE_UP_MS = 3 * 24 * HOUR;
const LEAST_ATTEMPTS = 3;

/**
 * Whether the next attempt is due. A time farther away than any wait was set by a clock that has been corrected since. Times:
 * ms since the epoch.
 */
export const isAttemptDue = (nextAt: number, now: number): boolean => nextAt <= now || nextAt > now + LONGEST_WAIT_MS;

/** Time that Retry-After names, seconds or a date, as ms since the epoch; null: none. */
const retryTime = (text: string | null, now: number): number | null => {
  const bare = text?.trim() ?? "";
  const at = /^\d{1,9}$/.test(bare) ? now + Number(bare) * SECOND : headerTimeMs(bare);
  return at === null ? null : Math.min(at, now + LONGEST_WAIT_MS);
};

const isTemporary = (status: number): boolean => status >= 500 || status === 408 || status === 425 || status === 429;

/**
 * Verdict on attempt number `attempts` (1-based) of a message made at `madeAt`. The wait is never under Retry-After;
 * `random` in [0, 1) adds jitter. Times: ms since the epoch.
 */
export const verdictOf = (
  attempt: Attempt,
  { attempts, madeAt, now, random }: { attempts: number; madeAt: number; now: number; random: number },
): Verdict => {
  if (attempt.kind === "answer" && attempt.status >= 200 && attempt.status < 300) return { kind: "sent" };
  const detail = attempt.kind === "away" ? attempt.detail : `it answered ${attempt.status}`;
  if (attempt.kind === "answer" && attempt.status === 410) return { kind: "gone", detail };
  if (attempt.kind === "answer" && !isTemporary(attempt.status)) {
    const redirects = attempt.status >= 300 && attempt.status < 400;
    return { kind: "dead", detail: redirects ? `${detail}; redirects are not followed` : detail };
  }
  if (now - madeAt >= GIVE_UP_MS && attempts >= LEAST_ATTEMPTS) return { kind: "dead", detail };
  const wait = WAITS_MS[Math.min(attempts, WAITS_MS.length) - 1] ?? LONGEST_WAIT_MS;
  const ownAt = now + Math.round(wait * (1 + JITTER * random));
  const askedAt = attempt.kind === "answer" ? retryTime(attempt.retryAfter, now) : null;
  return { kind: "retry", nextAt: Math.max(ownAt, askedAt ?? 0), detail };
};
