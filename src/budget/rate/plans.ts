// Published plans (API.md, "Limits") as steps: the start of an unknown rate, and the next rate after one that was too
// fast.
import { PLAN_RATES } from "../../core/config/settings.ts";

const FASTEST_FIRST: readonly number[] = Object.values(PLAN_RATES).toSorted((a, b) => b - a);

/** Start rate in requests per minute, when neither the user nor the service named one. */
export const FASTEST_PLAN = Math.max(...FASTEST_FIRST);

/** The next published rate below `perMinute`, or the slowest one. */
export const slowerPlan = (perMinute: number): number =>
  FASTEST_FIRST.find((rate) => rate < perMinute) ?? Math.min(...FASTEST_FIRST);

/**
 * The published rate after a refusal: the fastest below `perMinute` that does not exceed the `sent` requests of the
 * last minute, nearly all of which succeeded. If fewer than the slowest plan's were sent, the next rate below.
 */
export const planWithin = (perMinute: number, sent: number): number =>
  FASTEST_FIRST.find((rate) => rate < perMinute && rate <= sent) ?? slowerPlan(perMinute);
