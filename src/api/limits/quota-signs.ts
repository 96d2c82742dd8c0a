// Says what a refusal is for: lack of credits, speed, too many requests in flight (429), or rights (403); and when credits or requests come back.
// By several signs, because API.md documents none. Pure.
import type { ApiOutcome, RefusedOutcome } from "../outcome.ts";

// What a refusal for speed counts: requests per time, or requests in flight. Pure. API.md shows neither.

/** `unclear`: it says nothing of it. */
export type RefusalCause = "rate" | "in-flight" | "unclear";

const IN_FLIGHT = /concurren|simultaneous|in[ _-]?flight|\bparallel|at the same time/i;
const PER_TIME = /\brate\b|\bper[ _-]?(second|minute|hour)\b/i;

/** A longer wait is that for a window. */
const SHORT_MS = 5_000;

/** The cause that the text of a refusal names, else the one that its headers show. */
export const refusalCause = (outcome: ApiOutcome, now: number): RefusalCause => {
  const text = outcome.kind === "refused" ? outcome.excerpt : "";
  if (IN_FLIGHT.test(text)) return "in-flight";
  const waitMs = (openAgainAt(outcome) ?? now) - now;
  const isUsedUp = outcome.kind === "refused" && outcome.rate?.remaining === 0;
  return PER_TIME.test(text) || isUsedUp || waitMs > SHORT_MS ? "rate" : "unclear";
};

/** A rate recovers within the hour (API.md, "Limits": per minute). A later time belongs to a quota. */
export const LONGEST_RATE_WAIT_MS = 3_600_000;

/**
 * A month of credits returns within so long a time (API.md, "Limits": per month), which is also the latest time that is read
 * from headers (rate-headers.ts), less what passes until the verdict.
 */
const LONGEST_QUOTA_WAIT_MS = 31 * 86_400_000 - 60_000;

/** Time when requests are accepted again by the headers, ms since the epoch; null when they do not say. */
export const openAgainAt = (outcome: ApiOutcome): number | null => {
  if (outcome.kind === "broken") return null;
  const { rate } = outcome;
  return rate?.retryAt ?? (rate?.remaining === 0 ? rate.resetsAt : null);
};

const SHORT_PERIOD = /\bper[ -]?(second|minute)|\b(requests|calls)\/(s|sec|second|min|minute)\b/i;
const LONG_PERIOD = /\b(daily|monthly|per[ -]?(day|month))\b/i;
const QUOTA = /\bquota\b/i;
const CREDITS_GONE =
  /\b(no|insufficient|out of|not enough|exhausted)\b.{0,30}\bcredits?\b|\bcredits?\b.{0,40}\b(exhausted|exceeded|spent|used up|depleted|insufficient)\b/i;

const QUOTA_GONE =
  /\b(exceed(s|ed|ing)?|reached|exhausted|over|out of|no)\b.{0,30}\bquota\b|\bquota\b.{0,30}\b(exceeded|reached|exhausted|spent|used up|depleted)\b/i;

/** Codes such as `quota_exceeded` and `outOfCredits` as words. */
const inWords = (text: string): string => text.replace(/[_-]+/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2");

/** True when an error text mentions credits, or a limit per day or month. */
const speaksOfQuota = (text: string): boolean =>
  CREDITS_GONE.test(text) || LONG_PERIOD.test(text) || (QUOTA.test(text) && !SHORT_PERIOD.test(text));

/**
 * True when a 403 is about credits, not rights: only if it says that they are gone. What a plan includes "per month", and
 * that nothing was left in an earlier report, does not explain a 403.
 */
const isQuotaForbidden = (outcome: RefusedOutcome): boolean => {
  const text = inWords(outcome.excerpt);
  return outcome.usage?.remaining === 0 || CREDITS_GONE.test(text) || QUOTA_GONE.test(text);
};

/**
 * True when a 429 is about credits, not speed. Signs in order: no credits left here or in the last report, the text, and,
 * where nobody reports the credits, a wait of more than an hour and less than a month.
 */
const isQuotaLimit = (outcome: RefusedOutcome, remainingCredits: number | null, now: number): boolean => {
  const remaining = outcome.usage?.remaining ?? remainingCredits;
  if (remaining !== null && remaining <= 0) return true;
  const waitMs = (openAgainAt(outcome) ?? now) - now;
  const isLong = waitMs > LONGEST_RATE_WAIT_MS && waitMs < LONGEST_QUOTA_WAIT_MS;
  return speaksOfQuota(inWords(outcome.excerpt)) || (isLong && remaining === null);
};

/**
 * True when a refusal is about credits: each 402, and a 403 or 429 that shows it. `remainingCredits`: last reported figure,
 * null if none.
 */
export const isQuotaRefusal = (outcome: ApiOutcome, remainingCredits: number | null, now: number): boolean => {
  if (outcome.kind !== "refused") return false;
  if (outcome.status === 429) return isQuotaLimit(outcome, remainingCredits, now);
  return outcome.status === 402 || (outcome.status === 403 && isQuotaForbidden(outcome));
};

/** True when a refusal asks for a wait that belongs neither to a rate nor to a quota. */
export const isEndless = (outcome: ApiOutcome, now: number): boolean =>
  (openAgainAt(outcome) ?? now) - now >= LONGEST_QUOTA_WAIT_MS;

/** True when a refusal asks for a wait that is too long for a rate. */
export const isLongThrottle = (outcome: ApiOutcome, now: number): boolean =>
  (openAgainAt(outcome) ?? now) - now > LONGEST_RATE_WAIT_MS;

/**
 * When credits return, ms since the epoch; null: nobody says. `known`: the end of the period by the service's last report. A
 * time within the hour is that of a rate.
 */
export const creditsReturnAt = (outcome: ApiOutcome, known: number | null, now: number): number | null => {
  const named = openAgainAt(outcome);
  const ofBody = outcome.kind === "refused" ? outcome.usage?.resetsAt : null;
  return ofBody ?? known ?? (named !== null && named - now > LONGEST_RATE_WAIT_MS ? named : null);
};
