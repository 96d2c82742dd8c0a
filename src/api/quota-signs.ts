// A 429 means "too fast" or "credits spent", and API.md shows no way to tell them apart: these are the signs. Pure.
import type { ApiOutcome } from "./outcome.ts";

/** A rate recovers within the hour (API.md, "Limits": per minute). Whoever says later speaks of a quota. */
export const LONGEST_RATE_WAIT_MS = 3_600_000;

/** When requests are welcome again as far as the headers tell, ms since the epoch; null when they do not. */
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

/** Does the text of an error speak of credits or of a limit per day or month? */
const speaksOfQuota = (text: string): boolean =>
  CREDITS_GONE.test(text) || LONG_PERIOD.test(text) || (QUOTA.test(text) && !SHORT_PERIOD.test(text));

/**
 * Is this refusal about credits rather than speed? `remainingCredits` is what the service last reported, null if it
 * never did. Figures count before words: none left, here or as last reported; a wait beyond an hour; then the text.
 */
export const isQuotaRefusal = (outcome: ApiOutcome, remainingCredits: number | null, now: number): boolean => {
  if (outcome.kind !== "refused") return false;
  const remaining = outcome.usage?.remaining ?? remainingCredits;
  if (remaining !== null && remaining <= 0) return true;
  return (openAgainAt(outcome) ?? now) - now > LONGEST_RATE_WAIT_MS || speaksOfQuota(outcome.excerpt);
};
