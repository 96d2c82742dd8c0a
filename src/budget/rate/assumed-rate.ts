// The rate that is assumed while neither the user nor the service names one: after a refusal a slower published plan, and the
// earlier one again if its requests do not explain the refusal. Pure.
import { planWithin, SLOWEST_PLAN } from "./plans.ts";

const MINUTE_MS = 60_000;
/** A rate counts as used from this share of it. */
const USED = 0.5;
/** So large a share of a rate's requests within a minute is all of them. */
const ALL = 0.9;

interface AssumedRate {
  /** Requests per minute. */
  readonly assumed: number;
  readonly steppedAt: number;
  readonly loweredFrom: number | null;
  readonly retried: number | null;
}

/** Number of requests of the latest time, ms. */
type SentIn = (ms: number) => number;

/**
 * True if the rate does not explain a refusal: fewer requests were sent than the slowest plan allows, or the service took a
 * whole minute of them before. Then it refuses for another reason.
 */
const isUnexplained = (assumed: number, sent: number, began: boolean): boolean =>
  sent < SLOWEST_PLAN || (!began && sent >= assumed * ALL);

/**
 * The rate after a refusal. For a minute after a step, the window may still be full of what was sent before it, here or
 * elsewhere. `isCalm`: there was no other refusal for a while.
 */
export const assumeSlower = (
  { assumed, steppedAt, loweredFrom, retried }: AssumedRate,
  sentIn: SentIn,
  { now, isCalm }: { readonly now: number; readonly isCalm: boolean },
): Partial<AssumedRate> => {
  if (now - steppedAt < MINUTE_MS) return {};
  const sent = sentIn(MINUTE_MS);
  const began = sentIn(Infinity) === sent;
  // A rate that is refused again after it was tried again is too fast.
  const isTried = assumed === retried && !isCalm;
  const from = isUnexplained(assumed, sent, began) && !isTried ? assumed : null;
  return { assumed: planWithin(assumed, sent, began), steppedAt: now, loweredFrom: loweredFrom ?? from };
};

/** The rate after an answer: the earlier one again, once the lower one was used for a minute without a refusal. */
export const assumeFaster = (
  { assumed, loweredFrom }: AssumedRate,
  sentIn: SentIn,
  sinceRefusalMs: number,
): Partial<AssumedRate> => {
  if (loweredFrom === null || sinceRefusalMs < MINUTE_MS || sentIn(MINUTE_MS) < assumed * USED) return {};
  return { assumed: loweredFrom, loweredFrom: null, retried: loweredFrom };
};
