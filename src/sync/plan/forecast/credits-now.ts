// The service's latest figures, brought forward to now. Pure.
// Source: API.md, "Limits": unused credits roll over for up to three billing cycles.
import type { Quota } from "../../../api/outcome.ts";
import { remainingIn } from "../../../budget/credits/ledger.ts";
import { type RollOver, UNKNOWN_ROLL_OVER } from "../../../budget/credits/roll-over.ts";

/** Billing cycles for which an unused credit is kept (API.md, "Limits"). */
export const ROLL_OVER_CYCLES = 3;

/** What is known of the current period. */
export interface Credits {
  /** Credits of the period used so far. */
  readonly used: number | null;
  readonly remaining: number | null;
  readonly limit: number | null;
  /** ms since the epoch. */
  readonly resetsAt: number | null;
}

/** The same day and time of the next month, or its last day: a month after 31 January is 28 February. */
const monthAfter = (ms: number): number => {
  const date = new Date(ms);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 2, 0)).getUTCDate();
  return date.setUTCMonth(date.getUTCMonth() + 1, Math.min(date.getUTCDate(), lastDay));
};

/**
 * Figures of the current period. If the reset that the reading names is over, no figure of the new period is known: its
 * credits are granted, and what was left comes over, unless an earlier reset has shown that it does not. After more than
 * one missed reset nothing is known.
 */
export const creditsNow = (reading: Quota | null, now: number, rollOver: RollOver = UNKNOWN_ROLL_OVER): Credits => {
  if (reading === null) return { used: null, remaining: null, limit: null, resetsAt: null };
  const { limit, used } = reading;
  const remaining = remainingIn(reading);
  if (reading.resetsAt === null || now < reading.resetsAt)
    return { used, remaining, limit, resetsAt: reading.resetsAt };
  const resetsAt = monthAfter(reading.resetsAt);
  const grant = rollOver.grant ?? limit;
  if (grant === null || remaining === null || now >= resetsAt)
    return { used: null, remaining: null, limit, resetsAt: null };
  return { used: 0, remaining: grant + (rollOver.shown === "absent" ? 0 : remaining), limit: grant, resetsAt };
};
