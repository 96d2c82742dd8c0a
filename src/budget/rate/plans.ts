// Published plans (API.md, "Limits") as steps: the start of an unknown rate, and the next rate after one that was too
// fast.
import { PLAN_RATES } from "../../core/config/planning/rate-setting.ts";

const FASTEST_FIRST: readonly number[] = Object.values(PLAN_RATES).toSorted((a, b) => b - a);

/** Start rate in requests per minute, when neither the user nor the service named one. */
export const FASTEST_PLAN = Math.max(...FASTEST_FIRST);

export const SLOWEST_PLAN = Math.min(...FASTEST_FIRST);

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
export const planWithin = (perMinute: number, sent: number, began = false): number => {
  const within = FASTEST_FIRST.find((rate) => rate < perMinute && rate <= sent);
  if (within === undefined) return slowerPlan(perMinute);
  if (!began || sent <= within * (1 + CLOSE)) return within;
  return FASTEST_FIRST.findLast((rate) => rate < perMinute && rate >= sent) ?? within;
};
