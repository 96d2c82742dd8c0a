// The service's latest figures, brought forward to now. Pure.
// Source: API.md, "Limits": unused credits roll over for up to three billing cycles.
import type { Quota } from "../../api/outcome.ts";
import { remainingIn } from "../../budget/credits/ledger.ts";

/** Billing cycles for which an unused credit is kept (API.md, "Limits"). */
export const ROLL_OVER_CYCLES = 3;

/** What is known of the current period. */
export interface Credits {
  readonly remaining: number | null;
  readonly limit: number | null;
  /** ms since the epoch. */
  readonly resetsAt: number | null;
}

const monthAfter = (ms: number): number => {
  const date = new Date(ms);
  return date.setUTCMonth(date.getUTCMonth() + 1);
};

/**
 * Figures of the current period. If the reset that the reading names is over, no figure of the new period is known: the
 * limit is granted again, and what was left rolls over. After more than one missed reset nothing is known.
 */
export const creditsNow = (reading: Quota | null, now: number): Credits => {
  if (reading === null) return { remaining: null, limit: null, resetsAt: null };
  const { limit } = reading;
  const remaining = remainingIn(reading);
  if (reading.resetsAt === null || now < reading.resetsAt) return { remaining, limit, resetsAt: reading.resetsAt };
  const resetsAt = monthAfter(reading.resetsAt);
  return limit === null || remaining === null || now >= resetsAt
    ? { remaining: null, limit, resetsAt: null }
    : { remaining: remaining + limit, limit, resetsAt };
};
