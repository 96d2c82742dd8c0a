// Job plan: forecasts the requests of the next sync and their reasons, without sending one.
import { existsSync } from "node:fs";
import { createLedger } from "../src/budget/credits/local-ledger.ts";
import type { RollOver } from "../src/budget/credits/roll-over.ts";
import { vocabulary } from "../src/catalog/field-rules.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { DuckmirrorError, isCode } from "../src/core/errors.ts";
import { withFollowing } from "../src/core/state/following.ts";
import { readChecked } from "../src/core/state/last-check.ts";
import { accessOf, type KnownTier, readTier } from "../src/core/state/tier.ts";
import { type Waiting, waitingJson } from "../src/core/state/unusable-responses.ts";
import { didYouMean } from "../src/core/text/did-you-mean.ts";
import { isoTimeOrNull } from "../src/core/time.ts";
import { type Cut, readSpent, withinBudgets } from "../src/sync/plan/budgets.ts";
import { countsFromCheck, formsIn } from "../src/sync/plan/capabilities.ts";
import { type Credits, creditsNow, grantOf, readLastQuota, readRollOver } from "../src/sync/plan/credits.ts";
import { type ContentPrice, contentPrices, priceText } from "../src/sync/plan/forecast/content-prices.ts";
import { type Forecast, forecastOf } from "../src/sync/plan/forecast/forecast.ts";
import { type Outlook, outlookOf } from "../src/sync/plan/forecast/outlook.ts";
import { ratesOf, readPastRuns } from "../src/sync/plan/forecast/past-runs.ts";
import { createPlanner } from "../src/sync/plan/make-plan.ts";
import { readEmptyMirror } from "../src/warehouse/file/empty-mirror.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import { type MirrorReader, readSnapshot } from "../src/warehouse/read/mirror-reader.ts";
import { limitsOf } from "./engine.ts";
import { followHome } from "./home.ts";
import { type SyncRequest, syncOptions } from "./sync.ts";

export interface PlanReport {
  readonly forecast: Forecast;
  readonly outlook: Outlook;
  readonly credits: Credits;
  /** What the resets so far have shown of unused credits. */
  readonly rollOver: RollOver;
  /** Credits that the next sync may spend; null: no known limit. */
  readonly allowance: number | null;
  /** null: not yet known, so the plan is that of an organization with Full Access. */
  readonly tier: KnownTier | null;
  /** Number of followed inputs. */
  readonly followed: number;
  /** Budgets that leave due work out of the next sync. */
  readonly cuts: readonly Cut[];
  /** Due work that waits, because earlier answers could not be used. */
  readonly waiting: readonly Waiting[];
  readonly pace: Config["pace"];
  /** What the content of the request costs. */
  readonly content: readonly ContentPrice[];
}

export interface PlanRequest extends SyncRequest {
  /** Opt-in content to plan for as if it were configured, with its price. */
  readonly withContent?: readonly string[];
}

const reportOn = async (
  warehouse: MirrorReader,
  given: Config,
  request: PlanRequest,
  clock: Clock,
): Promise<PlanReport> => {
  const now = clock.now();
  const config = await withFollowing(given);
  const checked = await readChecked(config.dataDir);
  const { withContent = [] } = request;
  const content = [...config.content, ...withContent];
  const options = { ...syncOptions({ ...config, content }, request), ...countsFromCheck(checked, config.rowScope) };
  const shapes = formsIn(await warehouse.capabilities());
  const tier = await readTier(config.dataDir);
  // Before the tier is known, the plan is that of an organization with Full Access.
  const access = tier === null ? "open" : accessOf(tier, now, request.allowMassDelete ?? false);
  const { candidates, ...planned } = await createPlanner(warehouse, options)({ shapes, access }, now);
  // Before the first sync only `check` knows the credits of the period.
  const creditLimit = planned.view.creditLimit ?? checked.credits?.limit ?? null;
  const context = { ...planned.context, view: { ...planned.context.view, creditLimit } };
  const rollOver = await readRollOver(warehouse.database);
  const credits = creditsNow((await readLastQuota(warehouse.database)) ?? checked.credits, now, rollOver);
  const rates = ratesOf(await readPastRuns(warehouse.database), options.streams);
  const { budgets } = config;
  const spent = await readSpent(warehouse.database, { budgets, resetsAt: credits.resetsAt, now });
  const within = withinBudgets(candidates, { budgets, spent, limit: credits.limit });
  const forecast = forecastOf(context, within.candidates, rates);
  const outlook = outlookOf({
    context,
    candidates,
    forecast,
    rates,
    credits,
    rollOver,
    reserve: config.reserveCredits,
    ratePerMinute: config.rateLimitPerMinute,
    pacing: config.pacing,
    syncEveryMs: config.syncEveryMs,
  });
  const limits = { ...limitsOf(config), ...grantOf(rollOver), maxCredits: config.maxCredits };
  const allowance = createLedger({ clock, ...limits }).expects(credits);
  const { pace } = config;
  const followed = options.companies.length;
  const prices = contentPrices(context, withContent);
  const { cuts } = within;
  const { waiting } = planned;
  return { forecast, outlook, credits, rollOver, allowance, tier, followed, pace, cuts, waiting, content: prices };
};

/** Throws USAGE for a name that is no opt-in content. */
const checkContent = ({ withContent = [] }: PlanRequest): void => {
  const { content } = vocabulary();
  const unknown = withContent.find((name) => !content.includes(name));
  if (unknown === undefined) return;
  const detail = `${unknown} is not an opt-in field (${content.join(", ")}).${didYouMean(unknown, content)}`;
  throw new DuckmirrorError("USAGE", { detail });
};

/**
 * Reads the mirror's state and forecasts the next sync. Without a mirror it creates nothing. In a data directory that
 * cannot be written it reads the snapshot: opening the working file would write to it. Throws WRITER_BUSY while a sync
 * runs, and USAGE for unknown content.
 */
export const planJob = async (config: Config, request: PlanRequest, clock: Clock): Promise<PlanReport> => {
  checkContent(request);
  if (await followHome(config, clock)) {
    return readEmptyMirror(clock.now(), (reader) => reportOn(reader, config, request, clock));
  }
  const { dataDir, memory } = config;
  const warehouse = await openWarehouse({ dataDir, clock, memory }).catch((error: unknown) => {
    if (!isCode(error, "DATA_DIR_UNWRITABLE") || !existsSync(snapshotPath(dataDir))) throw error;
    return null;
  });
  if (warehouse === null) return planSnapshotJob(config, request, clock);
  try {
    return await reportOn(warehouse, config, request, clock);
  } finally {
    await warehouse.close();
  }
};

/**
 * The same from the published snapshot: possibly older, but available at any time and without blocking writers. Before there is one:
 * the first sync.
 */
export const planSnapshotJob = async (config: Config, request: PlanRequest, clock: Clock): Promise<PlanReport> => {
  checkContent(request);
  if (!existsSync(snapshotPath(config.dataDir))) {
    return readEmptyMirror(clock.now(), (reader) => reportOn(reader, config, request, clock));
  }
  return readSnapshot(snapshotPath(config.dataDir), (reader) => reportOn(reader, config, request, clock));
};

const priceJson = (price: ContentPrice) => ({
  name: `${price.stream}.${price.field}`,
  way: price.way,
  records: price.records,
  credits: price.credits,
  at_most: price.atMost,
  text: priceText(price),
});

/** Contract of `plan --json`. */
export const planJson = ({
  forecast,
  outlook,
  credits,
  rollOver,
  allowance,
  tier,
  cuts,
  waiting,
  content,
}: PlanReport) => ({
  requests: forecast.requests,
  credits: forecast.requests,
  at_least: forecast.atLeast,
  /** More than `requests` where no answer has shown how many rows a page holds. */
  at_most: forecast.atLeast ? null : forecast.most,
  /** Organization lists of unknown length: `duckmirror check --totals` asks for them, one credit each. */
  unknown: forecast.unknown,
  allowance,
  minutes: outlook.minutes,
  rate_per_minute: outlook.ratePerMinute,
  remaining: credits.remaining,
  limit: credits.limit,
  resets_at: isoTimeOrNull(credits.resetsAt),
  credits_per_day: outlook.creditsPerDay,
  expected_per_day: outlook.expectedPerDay,
  credits_per_period: outlook.perPeriod,
  /** Below zero: a deficit. */
  left_at_reset: outlook.leftAtReset,
  short: outlook.short,
  empty_on: isoTimeOrNull(outlook.emptyOn)?.slice(0, 10) ?? null,
  covered_periods: outlook.coveredPeriods,
  /** Whether a reset has shown that unused credits come over: `seen`, `absent` (they did not) or `unknown`. */
  roll_over: rollOver.shown,
  /** Streams that get older than they should if the credits were spread evenly; `days` null: not read again. */
  aging: outlook.aging.map(({ stream, days }) => ({ stream, days: days === null ? null : Math.ceil(days) })),
  tier: tier?.tier ?? "unknown",
  tier_since: isoTimeOrNull(tier?.since ?? null),
  cuts: cuts.map(({ budget, allowed, spent, leftOut }) => ({ budget, allowed, spent, left_out: leftOut })),
  /** Streams of which some requests wait, because the answers could not be used. */
  waiting: waitingJson(waiting),
  /** Prices of the content asked about; `records`, `credits` and `at_most` are null where they are not known. */
  content: content.map(priceJson),
  streams: forecast.streams.map((stream) => ({
    stream: stream.stream,
    scopes: stream.scopes,
    due: stream.due,
    requests: stream.requests,
    credits: stream.requests,
    at_least: stream.atLeast,
    at_most: stream.atLeast ? null : stream.most,
    because: stream.because,
  })),
  projection: outlook.streams.map((stream) => ({
    stream: stream.stream,
    credits_per_day: stream.creditsPerDay,
    changes_per_day: stream.changesPerDay,
    without_content: stream.withoutContent,
    with_content: stream.withContent,
  })),
});
