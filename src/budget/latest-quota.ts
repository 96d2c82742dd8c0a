// Which of several quota figures is the latest. Answers overtake one another: the one that arrives last may have been
// worked out first. Pure.
import type { Quota } from "../api/outcome.ts";
import { periodOf, remainingIn } from "./ledger.ts";

/** A `usage` block and the request that brought it; ms since the epoch. */
export interface QuotaSeen {
  readonly quota: Quota;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Clocks of two machines differ, and a service may count a moment after it answers. */
const SURELY_AFTER_MS = 5_000;

/**
 * Whether `seen`, which arrived after `known`, is also what the service knew later. Within one period `used` grows, so of
 * two requests that were under way together the higher figure is the later one. Credits given back or bought show in an
 * answer to a request that was sent after `known` had arrived.
 */
export const isLaterQuota = (known: QuotaSeen | null, seen: QuotaSeen): boolean => {
  if (known === null) return true;
  const relation = periodOf(known.quota, seen.quota.resetsAt);
  if (relation !== "same") return relation === "later";
  if (seen.sentAt > known.receivedAt + SURELY_AFTER_MS) return true;
  const [before, now] = [known.quota, seen.quota];
  if (before.used !== null && now.used !== null && before.used !== now.used) return now.used > before.used;
  if (before.limit !== null && now.limit !== null && before.limit !== now.limit) return now.limit > before.limit;
  return (remainingIn(now) ?? 0) <= (remainingIn(before) ?? 0);
};
