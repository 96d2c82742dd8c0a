// Runs one sync: recovers killed runs, plans, fetches and loads, settles deletes, publishes, reports.

import { streamSpec } from "../../catalog/streams.ts";
import { DuckmirrorError, detailOf, EXIT } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { RunStatus, SyncReport } from "../../core/report/sync-report.ts";
import { accessOf } from "../../core/state/tier.ts";
import { formatBytes } from "../../core/text/units.ts";
import { inSpan, noTracer } from "../../core/tracing.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { pruneHistory } from "../../warehouse/file/retention.ts";
import { pruneLedger } from "../../warehouse/file/upkeep/ledger-retention.ts";
import { openBudgets } from "../budgets/budget-book.ts";
import { creditsNow } from "../forecast/credits-now.ts";
import { forecastJson, forecastOf } from "../forecast/forecast.ts";
import { forecastErrorJson } from "../forecast/forecast-error.ts";
import { ratesOf, readPastRuns } from "../forecast/past-runs.ts";
import { createPlanner } from "../plan/make-plan.ts";
import { readLastQuota, readScopeRows } from "../plan/mirror-view.ts";
import { readRollOver } from "../plan/quota-readings.ts";
import { readShapes, rememberTier, rememberWanted } from "../plan/remembered.ts";
import { recover } from "../recovery/recover.ts";
import { createFetcher } from "../request/fetcher.ts";
import { createCommitter } from "../running/committer.ts";
import { missingParents, readVerdicts } from "../running/completeness.ts";
import { createEnding } from "../running/ending.ts";
import { listsAtRest } from "../running/lists-at-rest.ts";
import { createQuotaRecorder } from "../running/quota-recorder.ts";
import type { SyncDeps, SyncOptions, SyncRun } from "../running/run-state.ts";
import { createRunStats } from "../running/run-stats.ts";
import { closeScope, eraseOutside, openScope } from "../running/scope-marks.ts";
import { noteTier } from "../running/tier-book.ts";
import { dropOwners } from "../settle/apply-absences.ts";
import { dropInsights } from "../settle/apply-deletes.ts";
import { dispatch } from "./dispatcher.ts";

/** Report of a run, and the reason if it is incomplete. */
export interface SyncResult {
  readonly report: SyncReport;
  /** null: all due work is done. */
  readonly error: DuckmirrorError | null;
}

const two = (value: number) => String(value).padStart(2, "0");

/** Id of a run: its start in UTC and a random part, so that ids sort by time. */
export const newRunId = (now: number, random: () => number): string => {
  const date = new Date(now);
  const day = `${date.getUTCFullYear()}${two(date.getUTCMonth() + 1)}${two(date.getUTCDate())}`;
  const time = `${two(date.getUTCHours())}${two(date.getUTCMinutes())}${two(date.getUTCSeconds())}`;
  const tail = Math.floor(random() * 36 ** 6)
    .toString(36)
    .padStart(6, "0");
  return `${day}T${time}Z-${tail}`;
};

const iso = (ms: number) => new Date(ms).toISOString();

const reportJson = (report: SyncReport): JsonObject => {
  const streams = report.streams.map(
    ({ error, unconfirmed_because: because, ...stream }): JsonObject => ({
      ...stream,
      ...(because === undefined ? {} : { unconfirmed_because: because }),
      ...(error === undefined ? {} : { error }),
    }),
  );
  return { ...report, streams };
};

/** Adds the end of the quota period to the error of a run without credits, from this run's or an earlier report. */
const tellReset = async (run: SyncRun, stop: DuckmirrorError): Promise<DuckmirrorError> => {
  const { ledger, warehouse, clock, emit } = run.deps;
  if (stop.code !== "QUOTA_SPENT") return stop;
  const earlier = ledger.snapshot().resetsAt === null ? await readLastQuota(warehouse.database) : null;
  const resetsAt = ledger.snapshot().resetsAt ?? earlier?.resetsAt ?? null;
  if (resetsAt === null || resetsAt <= clock.now()) return stop;
  emit({ kind: "waiting", why: "quota", until: resetsAt, stream: null });
  if (stop.context.until) return stop;
  // An earlier report may be outdated, because credits can be bought.
  const until =
    earlier === null ? ` until ${iso(resetsAt)}` : `; by its last report the period ends at ${iso(resetsAt)}`;
  return new DuckmirrorError("QUOTA_SPENT", { until });
};

interface End {
  readonly status: RunStatus;
  readonly error: DuckmirrorError | null;
}

/** Marks streams below accounts or companies as failed, with advice, when none of these are known. */
const noteMissingParents = async (run: SyncRun): Promise<void> => {
  const { warehouse, emit } = run.deps;
  if (run.tier?.tier === "public") return;
  if ((await warehouse.scopeStates("accounts")).length > 0) return;
  const proven = await readVerdicts(warehouse.database);
  for (const name of run.options.streams) {
    const stats = run.stats.of(name);
    const error = missingParents(streamSpec(name), { proven, requests: stats.requests });
    if (error === null || stats.failed !== null) continue;
    stats.failed = `${error.code}: ${error.message}`;
    emit({ kind: "note", level: "warn", text: `${error.message} ${error.hint}` });
  }
};

/** End of the run, from failed streams and the reason for stopping. Throws the fault that ended it. */
const endOf = async (run: SyncRun): Promise<End> => {
  const reason = run.ending.reason();
  switch (reason?.kind) {
    case "failed":
      throw reason.fault;
    case "stopped": {
      const error = await tellReset(run, reason.error);
      return { status: error.exitCode === EXIT.budget ? "stopped" : "failed", error };
    }
    case "interrupted":
      return { status: "interrupted", error: new DuckmirrorError("INTERRUPTED") };
    case undefined: {
      await noteMissingParents(run);
      const cut = run.budgets.cut();
      const failed = run.options.streams.filter((stream) => run.stats.of(stream).failed !== null);
      if (failed.length === 0 && cut.length > 0) {
        return { status: "stopped", error: new DuckmirrorError("BUDGET_REACHED", { budgets: cut.join(", ") }) };
      }
      if (failed.length === 0) return { status: "done", error: null };
      return { status: "partial", error: new DuckmirrorError("STREAMS_FAILED", { streams: failed.join(", ") }) };
    }
    default:
      return reason satisfies never;
  }
};

/** Marks, and on request erases, rows outside the scope. */
const endScope = async ({ options, deps, runId, shapes, stats }: SyncRun): Promise<void> => {
  const scopeRun = { warehouse: deps.warehouse, rowScope: options.rowScope, runId, now: deps.clock.now() };
  await closeScope(scopeRun, shapes);
  if (!options.eraseOutside) return;
  for (const [stream, rows] of await eraseOutside(scopeRun, shapes)) stats.of(stream).deleted += rows;
};

/** Publishes what the run found; if it found nothing, the snapshot may stay. */
const publishRun = async (
  { publish, archiveLimits }: SyncOptions,
  { warehouse, emit }: SyncDeps,
  runId: string,
): Promise<void> => {
  const published = await warehouse.publishNews(runId, publish);
  if (published === null) return emit({ kind: "looked", path: warehouse.snapshot });
  const { path, bytes, durationMs: ms, compacted } = published;
  if (compacted?.problem) {
    const text = `the working file could not be compacted and stays ${formatBytes(compacted.bytesBefore)}: ${compacted.problem}`;
    emit({ kind: "note", level: "warn", text });
  }
  emit({ kind: "published", path, bytes, ms });
  if (archiveLimits !== null) await warehouse.pruneArchive(archiveLimits);
};

/**
 * Runs one sync. Rejects only on faults (disk full, a bug); everything that the service causes is in the report.
 * Publishes the snapshot at the end.
 */
export const runSync = async (options: SyncOptions, deps: SyncDeps): Promise<SyncResult> => {
  const { warehouse, clock, emit, tracer = noTracer } = deps;
  const startedAt = clock.now();
  const runId = options.runId ?? newRunId(startedAt, deps.random);
  const recovered = await recover(
    warehouse,
    deps.archive,
    await readScopeRows(warehouse.database),
    startedAt,
    deps.unsent,
  );
  if (recovered.answers > 0) {
    emit({
      kind: "note",
      level: "info",
      text: `${recovered.answers} paid answers of an interrupted run were taken up from the archive`,
    });
  }
  const shapes = await readShapes(warehouse);
  const scopeRun = { warehouse, rowScope: options.rowScope, runId, now: startedAt };
  await openScope(scopeRun, shapes);
  const planner = createPlanner(warehouse, options);
  const tier = deps.tier.known;
  const access = accessOf(tier, startedAt, options.allowMassDelete);
  const plan = await inSpan(tracer, "plan", () => planner({ shapes, access }, startedAt));
  const mode = options.full || plan.candidates.some((candidate) => candidate.mode === "walk") ? "full" : "incremental";
  const rates = ratesOf(await readPastRuns(warehouse.database), options.streams);
  const forecast = forecastOf(plan.context, plan.candidates, rates);
  const rollOver = await readRollOver(warehouse.database);
  const credits = creditsNow(await readLastQuota(warehouse.database), startedAt, rollOver);
  const allowance = deps.ledger.expects(credits);
  await warehouse.startRun({ runId, mode, startedAt, forecast: forecastJson(forecast, allowance) });
  await rememberWanted(warehouse, options, startedAt);
  await rememberTier(warehouse, tier, startedAt);
  emit({ kind: "run-started", runId, mode, at: startedAt });

  const ending = createEnding(deps);
  const { signal, hardSignal, stop } = ending;
  const archive = deps.archive.open({ runId, now: startedAt });
  const quota = createQuotaRecorder(clock);
  let sequence = 0;
  const run: SyncRun = {
    runId,
    startedAt,
    options,
    deps: { ...deps, signal, hardSignal },
    ending,
    archive,
    fetcher: createFetcher(
      { ...deps, signal, hardSignal, stop, archive, onQuota: quota.see },
      () => `${runId}-${(++sequence).toString(36)}`,
    ),
    committer: createCommitter({ warehouse, archive, runId, takeQuota: quota.take }),
    stats: createRunStats(),
    budgets: await openBudgets(options.budgets, deps),
    shapes,
    granted: new Map(),
    rows: await readScopeRows(warehouse.database),
    atRest: listsAtRest(plan.view.states, options),
    active: new Map(),
    taken: new Set(),
    losing: [],
    absent: [],
    compared: new Map(),
    tier,
    tierLowered: false,
    fullAccess: false,
    replan: false,
    failuresInARow: 0,
  };

  noteTier(run);

  const report = async (status: RunStatus, finishedAt: number): Promise<SyncReport> => {
    const { limit, remaining, resetsAt } = deps.ledger.snapshot();
    const ended = status === "stopped" || status === "interrupted" ? status : "done";
    const { requests, credits: spent, ambiguous } = run.stats.totals();
    const resets_at = resetsAt === null ? null : iso(resetsAt);
    const proven = await readVerdicts(warehouse.database);
    return {
      run_id: runId,
      status,
      mode,
      started_at: iso(startedAt),
      finished_at: iso(finishedAt),
      requests,
      credits: { spent, ambiguous, remaining, limit, resets_at },
      streams: [...run.stats.reports(options.streams, status === "failed" ? "stopped" : ended, proven)],
      warehouse: warehouse.snapshot,
    };
  };

  let end: End;
  try {
    await dispatch(run, planner, plan).finally(ending.close);
    // Owners and insights of erased accounts go with them.
    await endScope(run);
    const { inserted, updated, deleted } = run.stats.of("accounts");
    if (inserted + updated + deleted > 0) await dropOwners(run);
    await dropInsights(run);
    end = await endOf(run);
  } catch (error) {
    await archive.close();
    const finishedAt = clock.now();
    await warehouse
      .finishRun(runId, { status: "failed", finishedAt, summary: null, error: detailOf(error) })
      .catch(() => undefined);
    throw error;
  }
  await warehouse.commit({ runId, loads: [], requests: [], scopes: [], quota: quota.take(true) });
  await warehouse.database.run(sqlText("plan/drop-finished-walks.sql"));
  await archive.close();
  const { historyRetentionDays, ledgerRetentionDays } = options;
  if (historyRetentionDays !== null) await pruneHistory(warehouse.database, historyRetentionDays, clock.now());
  if (ledgerRetentionDays !== null) await pruneLedger(warehouse.database, ledgerRetentionDays, clock.now());
  const { status, error } = end;
  const ended = await report(status, clock.now());
  for (const stream of ended.streams) {
    const { error: failure, unconfirmed_because: because, ...counts } = stream;
    emit({
      kind: "stream-finished",
      ...counts,
      ...(because === undefined ? {} : { because }),
      ...(failure === undefined ? {} : { error: failure }),
    });
  }
  await warehouse.finishRun(runId, {
    status,
    finishedAt: clock.now(),
    summary: { ...reportJson(ended), forecast: forecastErrorJson(forecast, allowance, ended, error) },
    error: error?.code ?? null,
  });
  await publishRun(options, deps, runId);
  return { report: { ...ended, finished_at: iso(clock.now()) }, error };
};
