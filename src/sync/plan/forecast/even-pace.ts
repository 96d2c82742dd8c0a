// How old each stream gets until the reset, at an even pace: the most valuable streams get all the credits they need, and what
// is left decides how rarely the others are read. Pure.

import type { Quota } from "../../../api/outcome.ts";
import { remainingIn } from "../../../budget/credits/ledger.ts";
import { type RollOver, UNKNOWN_ROLL_OVER } from "../../../budget/credits/roll-over.ts";
import type { StreamName } from "../../../catalog/streams.ts";
import { byWorth } from "../worth.ts";

// The service's latest figures, brought forward to now. Pure.
// Source: API.md, "Limits": unused credits roll over for up to three billing cycles.

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

/** A stream that the credits do not keep fresh. */
export interface Aging {
  readonly stream: StreamName;
  /** Age that its rows reach at worst, in days; null: it is not read again before the reset. */
  readonly days: number | null;
}

/** Credits that a stream needs until the reset, and the age at which it is read again while they suffice. */
export interface Need {
  readonly credits: number;
  readonly ageDays: number;
}

/** Least share of its credits with which a stream is still said to be read. */
const LEAST_SHARE = 0.01;

/**
 * Streams that get less than they need out of `credits`, oldest last. The most valuable streams are served first, as in
 * every sync.
 */
export const agingOf = (needs: ReadonlyMap<StreamName, Need>, credits: number): readonly Aging[] => {
  let left = Math.max(0, credits);
  const aging: Aging[] = [];
  for (const stream of byWorth([...needs.keys()])) {
    const need = needs.get(stream);
    if (need === undefined || need.credits <= 0) continue;
    const share = Math.min(1, left / need.credits);
    left -= need.credits * share;
    if (share < 1) aging.push({ stream, days: share < LEAST_SHARE ? null : need.ageDays / share });
  }
  return aging;
};
