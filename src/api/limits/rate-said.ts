// Selects the rate information of a response that the limiter should use. Pure.

import type { ApiOutcome, RateInfo, Verdict } from "../outcome.ts";
import { LONGEST_RATE_WAIT_MS } from "./quota-signs.ts";

/**
 * Rate information for the limiter. A refusal that ends the run carries none: credits return in their own time, and
 * waiting for them in the limiter would delay this run and later ones. The Retry-After of a refusal counts only if
 * its verdict is to wait. Throws nothing.
 */
export const rateSaid = (outcome: ApiOutcome, verdict: Verdict, now: number): RateInfo | null => {
  if (outcome.kind === "broken" || outcome.rate === null || verdict.kind === "stop") return null;
  const { retryAt } = outcome.rate;
  const waits = verdict.kind === "wait" || (outcome.kind === "ok" && (retryAt ?? now) - now <= LONGEST_RATE_WAIT_MS);
  return waits ? outcome.rate : { ...outcome.rate, retryAt: null };
};
