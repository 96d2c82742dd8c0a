// The first part of a sync run: recovers killed runs, plans, records the run in the mirror, and makes its parts (run-state.ts).
// dispatcher.ts then does the work.

import { createQuotaRecorder, type QuotaRecorder } from "../../budget/credits/local-ledger.ts";
import type { StreamName } from "../../catalog/streams.ts";
import type { SyncReport } from "../../core/report/sync-report.ts";
import { accessOf } from "../../core/state/tier.ts";
import { newRunId } from "../../core/text/run-id.ts";
import { inSpan, noTracer } from "../../core/tracing.ts";
import type { Archive } from "../../warehouse/archive/archive.ts";
import type { ListForm } from "../list/form.ts";
import { openBudgetTracker } from "../plan/budgets.ts";
import { formsIn, storeConfigured, storeForm, storeTier, unusableIn } from "../plan/capabilities.ts";
import { creditsNow, readLastQuota, readRollOver } from "../plan/credits.ts";
import { type Forecast, forecastJson, forecastOf } from "../plan/forecast/forecast.ts";
import { ratesOf, readPastRuns } from "../plan/forecast/past-runs.ts";
import { createPlanner, type Plan, type Planner } from "../plan/make-plan.ts";
import { readScopeRows } from "../plan/mirror-view.ts";
import { correctFutureStamps, recover } from "../recovery/recover.ts";
import { createFetcher } from "../request/fetcher.ts";
import { withLargePagesAgain } from "../request/smaller-pages.ts";
import { type FirstResults, publishFirstResults } from "./first-results.ts";
import { createReader } from "./read-list.ts";
import { createCommitter } from "./state/committer.ts";
import { createEnding } from "./state/ending.ts";
import { Forms } from "./state/forms.ts";
import { ListEnds } from "./state/list-ends.ts";
import type { RunConstants, SyncDeps, SyncOptions } from "./state/run-input.ts";
import type { SyncRun } from "./state/run-state.ts";
import { RunStats } from "./state/run-stats.ts";
import { RunTier } from "./state/run-tier.ts";
import { openScope } from "./state/scope-marks.ts";
import { SuspectedDeletions } from "./state/suspected-deletions.ts";
import { UnusableResponses } from "./state/unusable-responses.ts";
import { Work } from "./state/work.ts";

/** A run under way, with what its report needs in the end. */
export interface BegunRun {
  readonly run: SyncRun;
  readonly mode: SyncReport["mode"];
  readonly plan: Plan;
  readonly planner: Planner;
  readonly forecast: Forecast;
  /** Credits that it may spend; null: no known limit. */
  readonly allowance: number | null;
  readonly archive: Archive;
  readonly quota: QuotaRecorder;
  /** null: an earlier run has finished the mirror, or rows outside the scope are found only at the end. */
  readonly firstResults: FirstResults | null;
}

type Identity = Pick<RunConstants, "runId" | "startedAt">;

/** Takes up paid answers that a killed run left in the archive. */
const recoverAnswers = async ({ warehouse, archive, emit }: SyncDeps, startedAt: number): Promise<void> => {
  const answers = await recover(warehouse, archive, () => readScopeRows(warehouse.database), startedAt);
  if (answers === 0) return;
  const text = `${answers} paid answers of an interrupted run were taken up from the archive`;
  emit({ kind: "note", level: "info", text });
};

const correctStamps = async ({ warehouse, emit }: SyncDeps, { runId, startedAt }: Identity): Promise<void> => {
  const corrected = await correctFutureStamps(warehouse, runId, startedAt);
  if (corrected === 0) return;
  const text = `${corrected} lists or records were read at a time in the future: this machine's clock was ahead, or is behind now`;
  emit({ kind: "note", level: "warn", text });
};

/** Plans the run and records it. */
const planRun = async (options: SyncOptions, deps: SyncDeps, { runId, startedAt }: Identity) => {
  const { warehouse, tracer = noTracer } = deps;
  const stored = [...formsIn(await warehouse.capabilities())];
  const shapes = new Map(stored.map(([name, shape]) => [name, withLargePagesAgain(shape, startedAt)]));
  await openScope({ warehouse, rowScope: options.rowScope, runId, now: startedAt }, shapes);
  const planner = createPlanner(warehouse, options);
  const tier = deps.tier.known;
  const access = accessOf(tier, startedAt, options.allowMassDelete);
  const plan = await inSpan(tracer, "plan", () => planner({ shapes, access }, startedAt));
  const mode: SyncReport["mode"] =
    options.full || plan.candidates.some((candidate) => candidate.mode === "walk") ? "full" : "incremental";
  const rates = ratesOf(await readPastRuns(warehouse.database), options.streams);
  const forecast = forecastOf(plan.context, plan.candidates, rates);
  const rollOver = await readRollOver(warehouse.database);
  const credits = creditsNow(await readLastQuota(warehouse.database), startedAt, rollOver);
  const allowance = deps.ledger.expects(credits);
  await warehouse.startRun({ runId, mode, startedAt, forecast: forecastJson(forecast, allowance) });
  await storeConfigured(warehouse, options, plan.view.creditLimit, startedAt);
  await storeTier(warehouse, tier, startedAt);
  deps.emit({ kind: "run-started", runId, mode, at: startedAt });
  return { planner, plan, mode, forecast, allowance, shapes, lastRemaining: credits.remaining };
};

/** True while no list of the mirror was ever read to its end. */
const isFirstMirror = ({ view }: Plan): boolean => [...view.states.values()].every(({ walkedAt }) => walkedAt === null);

/** Begins a run: after it, `ending` of the run must be closed and the run finished. */
export const beginRun = async (options: SyncOptions, deps: SyncDeps): Promise<BegunRun> => {
  const { warehouse, clock } = deps;
  const startedAt = clock.now();
  const identity = { runId: options.runId ?? newRunId(startedAt, deps.random), startedAt };
  const { runId } = identity;
  await recoverAnswers(deps, startedAt);
  await correctStamps(deps, identity);
  const { shapes, lastRemaining, ...planned } = await planRun(options, deps, identity);
  const ending = createEnding(deps);
  const { signal, hardSignal, stop } = ending;
  const archive = deps.archive.open({ runId, now: startedAt });
  const capabilities = await warehouse.capabilities();
  const quota = createQuotaRecorder(clock);
  const isEarly = Object.keys(options.rowScope).length === 0 && isFirstMirror(planned.plan);
  const firstResults = isEarly ? publishFirstResults(deps, startedAt) : null;
  const onCommitted = firstResults?.noteCommit;
  const own = { ...deps, signal, hardSignal };
  const known = { lastRemaining, addressKnown: lastRemaining !== null };
  const remember = (stream: StreamName, form: ListForm) => storeForm(warehouse, stream, form, clock.now());
  const parts = {
    ...{ ...identity, options, deps: own, ending },
    fetcher: createFetcher({ ...own, ...known, stop, archive, onQuota: quota.see, routesDiffer: true }, runId),
    committer: createCommitter({ clock, warehouse, archive, runId, takeQuota: quota.take, onCommitted }),
    stats: new RunStats(),
    budgets: await openBudgetTracker(options.budgets, deps),
    unusable: new UnusableResponses(unusableIn(capabilities), clock.now),
    forms: new Forms(shapes, { ...options, remember }),
    work: new Work({ rows: await readScopeRows(warehouse.database), states: planned.plan.view.states }, options),
    suspected: new SuspectedDeletions(),
  };
  const tier = new RunTier(parts);
  const lists = { ...parts, tier, ends: new ListEnds({ ...parts, tier }) };
  const run = { ...lists, reader: createReader(lists) };
  tier.announce();
  return { ...planned, run, archive, quota, firstResults };
};
