// Job plan: forecasts the requests of the next sync and their reasons, without sending one.
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { withFollowing } from "../src/core/state/following.ts";
import { accessOf, type KnownTier, readTier } from "../src/core/state/tier.ts";
import { type Cut, withinBudgets } from "../src/sync/budgets/caps.ts";
import { readSpent } from "../src/sync/budgets/spending.ts";
import { type Forecast, forecastOf } from "../src/sync/plan/forecast.ts";
import { createPlanner } from "../src/sync/plan/make-plan.ts";
import { readLastQuota } from "../src/sync/plan/mirror-view.ts";
import { type Credits, type Outlook, outlookOf } from "../src/sync/plan/outlook.ts";
import { readShapes } from "../src/sync/plan/remembered.ts";
import { isUnused, readEmptyMirror } from "../src/warehouse/file/empty-mirror.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import { type MirrorReader, readSnapshot } from "../src/warehouse/read/mirror-reader.ts";
import { type SyncRequest, syncOptions } from "./sync.ts";

export interface PlanReport {
  readonly forecast: Forecast;
  readonly outlook: Outlook;
  readonly credits: Credits;
  /** Credits that the next sync may spend; null: no known limit. */
  readonly allowance: number | null;
  /** null: not yet known, so the plan is that of an organization with Full Access. */
  readonly tier: KnownTier | null;
  /** Number of followed inputs. */
  readonly followed: number;
  /** Budgets that leave due work out of the next sync. */
  readonly cuts: readonly Cut[];
}

/** The lowest of the known limits. */
const allowanceOf = (config: Config, remaining: number | null): number | null => {
  const limits = [config.maxCredits, remaining === null ? null : Math.max(0, remaining - config.reserveCredits)];
  const known = limits.filter((limit) => limit !== null);
  return known.length === 0 ? null : Math.min(...known);
};

const reportOn = async (
  warehouse: MirrorReader,
  given: Config,
  request: SyncRequest,
  now: number,
): Promise<PlanReport> => {
  const config = await withFollowing(given);
  const options = syncOptions(config, request);
  const shapes = await readShapes(warehouse);
  const tier = await readTier(config.dataDir);
  // Before the tier is known, the plan is that of an organization with Full Access.
  const access = tier === null ? "open" : accessOf(tier, now, request.allowMassDelete);
  const { candidates, view } = await createPlanner(warehouse, options)({ shapes, access }, now);
  const quota = await readLastQuota(warehouse.database);
  const credits = {
    remaining: quota?.remaining ?? null,
    limit: quota?.limit ?? null,
    resetsAt: quota?.resetsAt ?? null,
  };
  const spent = await readSpent(warehouse.database, { budgets: config.budgets, resetsAt: credits.resetsAt, now });
  const within = withinBudgets(candidates, { budgets: config.budgets, spent, limit: credits.limit });
  const forecast = forecastOf(within.candidates);
  const outlook = outlookOf({
    view,
    options: { ...options, shapes, access },
    forecast,
    credits,
    ratePerMinute: config.rateLimitPerMinute,
    syncEveryMs: config.syncEveryMs,
    now,
  });
  const allowance = allowanceOf(config, credits.remaining);
  return { forecast, outlook, credits, allowance, tier, followed: options.companies.length, cuts: within.cuts };
};

/**
 * Reads the mirror's state and forecasts the next sync. Without a mirror it creates nothing.
 * Throws WRITER_BUSY while a sync runs.
 */
export const planJob = async (config: Config, request: SyncRequest, clock: Clock): Promise<PlanReport> => {
  if (isUnused(config.dataDir)) {
    return readEmptyMirror(clock.now(), (reader) => reportOn(reader, config, request, clock.now()));
  }
  const warehouse = await openWarehouse({ dataDir: config.dataDir, clock, memory: config.memory });
  try {
    return await reportOn(warehouse, config, request, clock.now());
  } finally {
    await warehouse.close();
  }
};

/** The same from the published snapshot: possibly older, but available at any time and without blocking writers. */
export const planSnapshotJob = (config: Config, request: SyncRequest, clock: Clock): Promise<PlanReport> =>
  readSnapshot(snapshotPath(config.dataDir), (reader) => reportOn(reader, config, request, clock.now()));

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

/** Contract of `plan --json`. */
export const planJson = ({ forecast, outlook, credits, allowance, tier, cuts }: PlanReport) => ({
  requests: forecast.requests,
  credits: forecast.requests,
  at_least: forecast.atLeast,
  allowance,
  minutes: outlook.minutes,
  rate_per_minute: outlook.ratePerMinute,
  remaining: credits.remaining,
  limit: credits.limit,
  resets_at: iso(credits.resetsAt),
  credits_per_day: outlook.creditsPerDay,
  left_at_reset: outlook.leftAtReset,
  tier: tier?.tier ?? "unknown",
  tier_since: iso(tier?.since ?? null),
  cuts: cuts.map(({ budget, allowed, spent, leftOut }) => ({ budget, allowed, spent, left_out: leftOut })),
  streams: forecast.streams.map((stream) => ({
    stream: stream.stream,
    scopes: stream.scopes,
    requests: stream.requests,
    credits: stream.requests,
    at_least: stream.atLeast,
    because: stream.because,
  })),
});
