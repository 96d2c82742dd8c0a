// Chooses the rate that the limiter assumes while neither the user nor the service names one. After a refusal: the published plan that fits
// the requests which were sent and answered in the last minute, else the next slower one. A minute later without a refusal: the earlier one
// again, if requests at that rate did not explain the refusal. Pure.
import { PLAN_RATES } from "../../core/config/setting-parsers.ts";

// Published plans (API.md, "Limits") as steps: the start of an unknown rate, and the next rate after one that was too
// fast.

const FASTEST_FIRST: readonly number[] = Object.values(PLAN_RATES).toSorted((a, b) => b - a);

/** Start rate in requests per minute, when neither the user nor the service named one. */
export const FASTEST_PLAN = Math.max(...FASTEST_FIRST);

const SLOWEST_PLAN = Math.min(...FASTEST_FIRST);

/** The next published rate below `perMinute`, or the slowest one. */
export const slowerPlan = (perMinute: number): number => FASTEST_FIRST.find((rate) => rate < perMinute) ?? SLOWEST_PLAN;

/** A count this close to a plan's rate, as a share of it, is that rate. */
const CLOSE = 0.1;

/**
 * The published rate after a refusal: the fastest below `perMinute` that does not exceed the `sent` requests of the
 * last minute, nearly all of which succeeded. If fewer than the slowest plan's were sent, the next rate below.
 * `began`: the limiter has counted for less than a minute. Then another process may have sent the rest of what the
 * service allows, and `sent` is the least that it allows: unless it is a plan's rate, the slowest rate above it is
 * tried.
 */
export const planAfterRefusal = (perMinute: number, sent: number, began = false): number => {
  const within = FASTEST_FIRST.find((rate) => rate < perMinute && rate <= sent);
  if (within === undefined) return slowerPlan(perMinute);
  if (!began || sent <= within * (1 + CLOSE)) return within;
  return FASTEST_FIRST.findLast((rate) => rate < perMinute && rate >= sent) ?? within;
};

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
  return { assumed: planAfterRefusal(assumed, sent, began), steppedAt: now, loweredFrom: loweredFrom ?? from };
};

/**
 * The rate after an answer, where it was lowered: the earlier one again, once the lower one was used for a minute without a
 * refusal. `sent`: requests of the last minute.
 */
export const assumeFaster = (
  assumed: number,
  loweredFrom: number,
  sent: number,
  sinceRefusalMs: number,
): Partial<AssumedRate> =>
  sinceRefusalMs < MINUTE_MS || sent < assumed * USED
    ? {}
    : { assumed: loweredFrom, loweredFrom: null, retried: loweredFrom };
