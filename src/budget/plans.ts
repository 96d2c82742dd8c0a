// The published plans (API.md, "Limits") as steps: where an unknown rate starts, and where it goes when it was too fast.
import { PLAN_RATES } from "../core/config/settings.ts";

const FASTEST_FIRST: readonly number[] = Object.values(PLAN_RATES).toSorted((a, b) => b - a);

/** Requests per minute to start from when neither the user nor the service named a rate. */
export const FASTEST_PLAN = Math.max(...FASTEST_FIRST);

/** The next published rate below `perMinute`; the slowest one when there is none below. */
export const slowerPlan = (perMinute: number): number =>
  FASTEST_FIRST.find((rate) => rate < perMinute) ?? Math.min(...FASTEST_FIRST);

/**
 * The published rate after a refusal: the fastest below `perMinute` that allows the `sent` requests of the last minute,
 * nearly all of which went well. Fewer than the slowest plan's say nothing: then the next one below.
 */
export const planWithin = (perMinute: number, sent: number): number =>
  FASTEST_FIRST.find((rate) => rate < perMinute && rate <= sent) ?? slowerPlan(perMinute);
