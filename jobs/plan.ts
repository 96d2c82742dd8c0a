// Job plan: what the next sync would request and why, without a single request.
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config.ts";
import { type Forecast, forecastOf } from "../src/sync/forecast.ts";
import { readLastQuota, readShapes } from "../src/sync/mirror-view.ts";
import { type Credits, type Outlook, outlookOf } from "../src/sync/outlook.ts";
import { planSync } from "../src/sync/plan-view.ts";
import { openWarehouse } from "../src/warehouse/warehouse.ts";
import { type SyncRequest, syncOptions } from "./sync.ts";

export interface PlanReport {
  readonly forecast: Forecast;
  readonly outlook: Outlook;
  readonly credits: Credits;
  /** Credits the next sync may spend; null: nothing limits it that is known. */
  readonly allowance: number | null;
}

/** The fewer of the limits that are known. */
const allowanceOf = (config: Config, remaining: number | null): number | null => {
  const limits = [config.maxCredits, remaining === null ? null : Math.max(0, remaining - config.reserveCredits)];
  const known = limits.filter((limit) => limit !== null);
  return known.length === 0 ? null : Math.min(...known);
};

/** Reads the mirror's state and forecasts the next sync. Throws WRITER_BUSY while one is running. */
export const planJob = async (config: Config, request: SyncRequest, clock: Clock): Promise<PlanReport> => {
  const warehouse = await openWarehouse({ dataDir: config.dataDir, clock });
  try {
    const now = clock.now();
    const options = syncOptions(config, request);
    const shapes = await readShapes(warehouse);
    const { candidates, view } = await planSync(warehouse, options, shapes, now);
    const quota = await readLastQuota(warehouse.database);
    const credits = {
      remaining: quota?.remaining ?? null,
      limit: quota?.limit ?? null,
      resetsAt: quota?.resetsAt ?? null,
    };
    const forecast = forecastOf(candidates);
    const outlook = outlookOf({
      view,
      options: { ...options, shapes },
      forecast,
      credits,
      ratePerMinute: config.rateLimitPerMinute,
      syncEveryMs: config.syncEveryMs,
      now,
    });
    return { forecast, outlook, credits, allowance: allowanceOf(config, credits.remaining) };
  } finally {
    await warehouse.close();
  }
};
