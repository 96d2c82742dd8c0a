// Forecasts of the syncs of a simulated month and what the syncs spent: as `plan` makes them and `status` judges them.
import type { StreamName } from "../src/catalog/streams.ts";
import type { Candidate, Context } from "../src/sync/plan/candidate.ts";
import type { Credits } from "../src/sync/plan/credits.ts";
import { errorPercent, forecastOf } from "../src/sync/plan/forecast/forecast.ts";
import { outlookOf } from "../src/sync/plan/forecast/outlook.ts";
import { type PastRun, ratesOf } from "../src/sync/plan/forecast/past-runs.ts";

/** As many as the program learns from (past-runs.ts). */
const LEARN_FROM = 20;

export interface SyncForecast {
  /** Adds what the sync spent, and whether it did all due work. */
  end(spent: ReadonlyMap<StreamName, number>, finished: boolean): void;
}

export const createForecasts = (syncEveryMs: number, streams: readonly StreamName[]) => {
  const runs: PastRun[] = [];
  const errors: number[] = [];
  const uncutErrors: number[] = [];
  const leftAtReset: number[] = [];
  let syncs = 0;
  return {
    /** Errors of the forecasts of single syncs, in percent of what they spent, without a sign. */
    errors,
    /**
     * Those of syncs that did all due work. Where the credits cut a sync, they are its forecast, and it is right by
     * itself.
     */
    uncutErrors,
    /** Credits left at the reset (below zero: short), foreseen at the start of every twentieth sync. */
    leftAtReset,
    begin: (context: Context, due: readonly Candidate[], allowance: number | null, credits: Credits): SyncForecast => {
      const rates = ratesOf(runs.slice(-LEARN_FROM), streams);
      const forecast = forecastOf(context, due, rates);
      const input = {
        context,
        candidates: due,
        forecast,
        rates,
        credits,
        reserve: 0,
        ratePerMinute: null,
        pacing: "burst" as const,
        syncEveryMs,
      };
      if (syncs % 20 === 0) leftAtReset.push(outlookOf(input).leftAtReset ?? Number.NaN);
      syncs += 1;
      const foreseen = Math.min(forecast.requests, allowance ?? Infinity);
      return {
        end: (spent, finished) => {
          const total = [...spent.values()].reduce((sum, credits) => sum + credits, 0);
          const error = Math.abs(errorPercent(foreseen, total));
          if (!forecast.atLeast) errors.push(error);
          if (!finished) return;
          if (!forecast.atLeast) uncutErrors.push(error);
          runs.push({
            atLeast: forecast.atLeast,
            days: forecast.days,
            due: new Map(forecast.streams.map(({ stream, due: credits }) => [stream, credits])),
            spent,
            changed: new Map(),
          });
        },
      };
    },
  };
};
