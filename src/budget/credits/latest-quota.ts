// Finds the latest of several quota figures. Responses overtake one another: the last to arrive may have been
// computed first. Pure.
import type { Quota } from "../../api/outcome.ts";
import { periodOf, remainingIn } from "./ledger.ts";

/** A `usage` block and the times of its request and response; ms since the epoch. */
export interface QuotaSeen {
  readonly quota: Quota;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Allowance for different clocks, and for services that count a moment after they respond. */
const SURELY_AFTER_MS = 5_000;

/**
 * True when `seen`, which arrived after `known`, is also the service's later figure. Within a period `used` grows, so
 * of two concurrent requests the higher figure is later. Refunded or bought credits show in a response to a request
 * that was sent after `known` had arrived.
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
