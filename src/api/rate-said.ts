// What of an answer reaches the limiter. Pure.
import type { ApiOutcome, RateInfo } from "./outcome.ts";
import { LONGEST_RATE_WAIT_MS } from "./quota-signs.ts";
import type { Verdict } from "./retry-policy.ts";

/**
 * What an outcome tells the limiter. A refusal that ends the run says nothing about the rate: credits that are gone come
 * back in their own time, and a limiter that waited for them would hold up this run and later ones. A refusal's
 * Retry-After counts only where its verdict is to wait. Throws nothing.
 */
export const rateSaid = (outcome: ApiOutcome, verdict: Verdict, now: number): RateInfo | null => {
  if (outcome.kind === "broken" || outcome.rate === null || verdict.kind === "stop") return null;
  const { retryAt } = outcome.rate;
  const waits = verdict.kind === "wait" || (outcome.kind === "ok" && (retryAt ?? now) - now <= LONGEST_RATE_WAIT_MS);
  return waits ? outcome.rate : { ...outcome.rate, retryAt: null };
};
