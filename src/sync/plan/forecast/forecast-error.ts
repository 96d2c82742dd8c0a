// Error of a forecast, once its run has ended. Pure.
import type { DuckmirrorError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { SyncReport } from "../../../core/report/sync-report.ts";
import { type Forecast, isRange } from "./forecast.ts";

/** Forecast minus spent credits, in percent of the spent credits (at least one). */
export const errorPercent = (forecast: number, spent: number): number =>
  Math.round((1000 * (forecast - spent)) / Math.max(1, spent)) / 10;

/**
 * The forecast of a run beside what it spent, as stored with its report. The error is null where the two do not compare:
 * the length of a list or of its pages was unknown, or something other than the credits ended the run early.
 */
export const forecastErrorJson = (
  forecast: Forecast,
  allowance: number | null,
  { status, credits: { spent } }: Pick<SyncReport, "status" | "credits">,
  error: DuckmirrorError | null,
): JsonObject => {
  const credits = Math.min(forecast.requests, allowance ?? Infinity);
  const byCredits = error?.code === "BUDGET_SPENT" || error?.code === "QUOTA_SPENT";
  const compares = !isRange(forecast) && (status === "done" || (status === "stopped" && byCredits));
  return { credits, at_least: isRange(forecast), spent, error_percent: compares ? errorPercent(credits, spent) : null };
};
