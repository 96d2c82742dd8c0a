// The last part of a sync run: decides with which status it ended, deletes absent records, stores the run's end, publishes the snapshot,
// and makes the report.
import type { Quota } from "../../api/outcome.ts";
import { type StreamName, streamSpec, wantedContent } from "../../catalog/streams.ts";
import { DuckmirrorError, type ErrorCode, EXIT, isCode, withHint } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { problemOf } from "../../core/report/problem.ts";
import type { CheckReport, RunStatus, SyncReport, SyncResult } from "../../core/report/sync-report.ts";
import type { Unusable } from "../../core/state/unusable-responses.ts";
import { counted, formatBytes } from "../../core/text/units.ts";
import { isoTime } from "../../core/time.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { pruneHistory, pruneLedger } from "../../warehouse/file/upkeep/history-retention.ts";
import { readCheckResults } from "../../warehouse/read/check-results.ts";
import { storeUnusable } from "../plan/capabilities.ts";
import { readCreditsLeft, readLastQuota } from "../plan/credits.ts";
import { forecastErrorJson } from "../plan/forecast/forecast.ts";
import type { BegunRun } from "./begin-run.ts";
import { deleteAbsentOwners, deleteOrphanInsights } from "./reconcile/delete-absent-records.ts";
import { eraseFollowers } from "./reconcile/remove-company.ts";
import { missingParents, type ProvenStream, readCompleteness } from "./state/completeness.ts";
import type { Run } from "./state/run-state.ts";
import { closeScope, eraseOutside } from "./state/scope-marks.ts";

export interface RunEnd {
  readonly status: RunStatus;
  /** null: all due work is done. */
  readonly error: DuckmirrorError | null;
}

/** The error of a run without credits, with the end of the period; `report`: the one that the time comes from. */
export const untilReset = (stop: DuckmirrorError, resetsAt: number, report: "own" | "earlier"): DuckmirrorError => {
  if (stop.context.until) return stop;
  const end = new Date(resetsAt).toISOString();
  // An earlier report may be outdated, because credits can be bought.
  const until = report === "own" ? ` until ${end}` : `; by its last report the period ends at ${end}`;
  return new DuckmirrorError("QUOTA_SPENT", { until });
};

/** Adds the end of the quota period to the error of a run without credits, from this run's or an earlier report. */
const tellReset = async (run: Run, stop: DuckmirrorError): Promise<DuckmirrorError> => {
  const { ledger, warehouse, clock, emit } = run.deps;
  if (stop.code !== "QUOTA_SPENT") return stop;
  const own = ledger.snapshot().resetsAt;
  const resetsAt = own ?? (await readLastQuota(warehouse.database))?.resetsAt ?? null;
  if (resetsAt === null || resetsAt <= clock.now()) return stop;
  emit({ kind: "waiting", why: "quota", until: resetsAt, stream: null });
  return untilReset(stop, resetsAt, own === null ? "earlier" : "own");
};

/** Reports a failure of a stream that had none while its work was done. */
const reportFailure = ({ stats, deps }: Run<"stats">, stream: StreamName, error: DuckmirrorError): void => {
  if (stats.fail(stream, error)) deps.emit({ kind: "note", level: "warn", text: withHint(error) });
};

/** Reports lists or records that wait, because their answers could not be used, as failures of their streams. */
const reportWaiting = (run: Run<"stats" | "unusable">): void => {
  for (const { stream: name, places, until } of run.unusable.waiting) {
    const stream = run.options.streams.find((wanted) => wanted === name);
    if (stream === undefined) continue;
    const context = { stream, count: places, until: isoTime(until) };
    reportFailure(run, stream, new DuckmirrorError("ANSWERS_UNUSABLE", context));
  }
};

/** Marks streams below accounts or companies as failed, with advice, when none of these are known. */
const noteMissingParents = async (run: Run<"stats" | "tier">): Promise<void> => {
  const { warehouse } = run.deps;
  if (run.tier.isPublic) return;
  if ((await warehouse.scopeStates("accounts")).length > 0) return;
  const proven = await readCompleteness(warehouse.database);
  for (const name of run.options.streams) {
    const error = missingParents(streamSpec(name), { proven, requests: run.stats.of(name).requests });
    if (error !== null) reportFailure(run, name, error);
  }
};

/** End of a run that nothing stopped. `failed`: streams; `cut`: budgets that left work out. */
export const endOfWork = (failed: readonly string[], cut: readonly string[]): RunEnd => {
  if (failed.length > 0) {
    return { status: "partial", error: new DuckmirrorError("STREAMS_FAILED", { streams: failed.join(", ") }) };
  }
  if (cut.length === 0) return { status: "done", error: null };
  return { status: "stopped", error: new DuckmirrorError("BUDGET_REACHED", { budgets: cut.join(", ") }) };
};

/** End of the run, from failed streams and the reason for stopping. Throws the fault that ended it. */
export const runEndOf = async (
  run: Run<"budgets" | "ending" | "fetcher" | "stats" | "tier" | "unusable">,
): Promise<RunEnd> => {
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
      const refused = run.fetcher.tokenRefused();
      if (refused !== null) return { status: "failed", error: refused };
      await noteMissingParents(run);
      reportWaiting(run);
      const failed = run.options.streams.filter((stream) => run.stats.of(stream).failed !== null);
      return endOfWork(failed, run.budgets.cut());
    }
    default:
      return reason satisfies never;
  }
};

const reportJson = ({ checks: _, ...report }: SyncReport): JsonObject => {
  const streams = report.streams.map(
    ({ error, reason, ...stream }): JsonObject => ({
      ...stream,
      ...(reason === undefined ? {} : { reason }),
      ...(error === undefined ? {} : { error }),
    }),
  );
  return { ...report, streams };
};

/** Marks, and on request erases, rows outside the scope. The end of the run marks what follows accounts and inputs. */
const endScope = async ({ options, deps, runId, forms, stats }: Run<"forms" | "stats">): Promise<void> => {
  const scopeRun = { warehouse: deps.warehouse, rowScope: options.rowScope, runId, now: deps.clock.now() };
  await closeScope(scopeRun, forms.ofStreams);
  if (!options.eraseOutside) return;
  // What follows accounts is found by their marks, so it is erased before them.
  await deps.warehouse.mark({ of: "followers" });
  for (const [stream, rows] of await eraseFollowers(deps.warehouse, scopeRun)) stats.countDeleted(stream, rows);
  for (const [stream, rows] of await eraseOutside(scopeRun, forms.ofStreams)) stats.countDeleted(stream, rows);
};

/** Removes what belonged to rows that are gone, and settles rows outside the scope. */
export const deleteAbsentRecords = async (run: Run<"forms" | "suspected" | "stats">): Promise<void> => {
  // Owners and insights of erased accounts go with them.
  await endScope(run);
  if (run.stats.hasChanged("accounts") || run.suspected.hasAllAccounts) await deleteAbsentOwners(run);
  await deleteOrphanInsights(run);
};

/**
 * Notes a run that a fault ended; it leaves its rows committed and publishes nothing. Without a summary: the next sync takes
 * up what it paid for and did not commit (recover.ts).
 */
export const noteFault = async ({ run, archive }: BegunRun, fault: unknown): Promise<void> => {
  const { warehouse, clock } = run.deps;
  await archive.close();
  await warehouse
    .finishRun(run.runId, { status: "failed", finishedAt: clock.now(), summary: null, error: problemOf(fault).message })
    .catch(() => undefined);
};

/** Ends of a run that concern all of its requests. */
const EVERYWHERE: readonly (ErrorCode | undefined)[] = [
  "CREDENTIALS_REFUSED",
  "SERVICE_FAILING",
  "SERVICE_UNREACHABLE",
];

/** A detail that was absent is forgotten with the setting that wanted it, or if none has asked for it for a month. */
const isOpen = ({ absent, at }: Unusable, { options, deps }: Run): boolean =>
  !absent ||
  (wantedContent(streamSpec("signals"), options.content).length > 0 && deps.clock.now() - at < 30 * 86_400_000);

type CreditsLeft = Omit<Quota, "used">;

/** Credits left: the ledger's figure, or, where no response of the run had one, what the mirror knows. */
const creditsLeft = async ({ deps: { ledger, warehouse, clock } }: Run): Promise<CreditsLeft> => {
  const left = ledger.snapshot();
  return (left.remaining === null ? await readCreditsLeft(warehouse.database, clock.now()) : null) ?? left;
};

const reportOf = (
  { run, mode }: BegunRun,
  status: RunStatus,
  known: { readonly proven: ReadonlyMap<string, ProvenStream>; readonly left: CreditsLeft },
): SyncReport => {
  const { warehouse, clock } = run.deps;
  const finishedAt = clock.now();
  const { limit, remaining, resetsAt } = known.left;
  const ended = status === "stopped" || status === "interrupted" ? status : "done";
  const { requests, credits: spent, ambiguous } = run.stats.totals();
  const resets_at = resetsAt === null ? null : isoTime(resetsAt);
  return {
    run_id: run.runId,
    status,
    mode,
    started_at: isoTime(run.startedAt),
    finished_at: isoTime(finishedAt),
    requests,
    credits: { spent, ambiguous, remaining, limit, resets_at },
    streams: [...run.stats.reports(run.options.streams, status === "failed" ? "stopped" : ended, known.proven)],
    warehouse: warehouse.snapshot,
  };
};

/** Report of a run that a fault ended: what it sent and wrote. Its mirror may not be readable, so it proves nothing. */
export const reportBroken = (begun: BegunRun): SyncReport =>
  reportOf(begun, "failed", { proven: new Map(), left: begun.run.deps.ledger.snapshot() });

const tellStreams = ({ deps }: Run, { streams }: SyncReport): void => {
  const most = deps.sender.mostInFlight?.() ?? null;
  const text = `the service refuses more than ${counted(most ?? 0, "request")} in flight, so no more are sent at once`;
  if (most !== null) deps.emit({ kind: "note", level: "warn", text });
  for (const { error, reason: because, ...counts } of streams) {
    deps.emit({
      kind: "stream-finished",
      ...counts,
      ...(because === undefined ? {} : { because }),
      ...(error === undefined ? {} : { error }),
    });
  }
};

/** Publishes what the run found; if it found nothing, the snapshot may stay. Returns what its checks found wrong. */
const publishRun = async ({ runId, options, deps }: Run): Promise<DuckmirrorError | null> => {
  const { publish, archiveLimits } = options;
  const { warehouse, emit } = deps;
  const published = await warehouse.publishNews(runId, publish).catch((error: unknown) => {
    if (isCode(error, "CHECK_FAILED") || isCode(error, "INTERRUPTED")) return error;
    throw error;
  });
  if (published === null) emit({ kind: "looked", path: warehouse.snapshot });
  if (published === null || "code" in published) return published;
  const { path, bytes, durationMs: ms, compacted, broken } = published;
  if (compacted?.problem) {
    const text = `the working file could not be compacted and stays ${formatBytes(compacted.bytesBefore)}: ${compacted.problem}`;
    emit({ kind: "note", level: "warn", text });
  }
  emit({ kind: "published", path, bytes, ms });
  if (archiveLimits !== null) await warehouse.pruneArchive(archiveLimits);
  return broken;
};

/** Results of the last checks; rows that only warn become a note. */
const readChecks = async ({ deps: { warehouse, emit } }: Run): Promise<{ readonly checks?: CheckReport[] }> => {
  const checks = (await readCheckResults(warehouse.database)).map(
    ({ check, severity, status, failing }): CheckReport => ({ check, severity, status, failing }),
  );
  for (const { check, severity, failing } of checks) {
    if (severity !== "warn" || !failing) continue;
    const text = `check ${check}: ${counted(failing, "row")}; \`duckmirror check-data\` shows them`;
    emit({ kind: "note", level: "warn", text });
  }
  return checks.length === 0 ? {} : { checks };
};

/** Commits what is left, removes what is too old, records and publishes the run. Resolves with its result. */
export const finishRun = async (begun: BegunRun, { status, error }: RunEnd): Promise<SyncResult> => {
  const { run, archive, quota, forecast, allowance } = begun;
  const { warehouse, clock } = run.deps;
  const { historyRetentionDays, ledgerRetentionDays } = run.options;
  await warehouse.commit({ runId: run.runId, loads: [], requests: [], scopes: [], quota: quota.take(true) });
  await warehouse.database.run(sqlText("plan/drop-finished-walks.sql"));
  // A token or a service that fails as a whole says nothing of single lists.
  const unusable = EVERYWHERE.includes(error?.code) ? run.unusable.before : run.unusable.known;
  const open = unusable.filter((entry) => isOpen(entry, run));
  await storeUnusable(warehouse, open, clock.now());
  await archive.close();
  if (historyRetentionDays !== null) await pruneHistory(warehouse.database, historyRetentionDays, clock.now());
  if (ledgerRetentionDays !== null) await pruneLedger(warehouse.database, ledgerRetentionDays, clock.now());
  const report = reportOf(begun, status, {
    proven: await readCompleteness(warehouse.database),
    left: await creditsLeft(run),
  });
  tellStreams(run, report);
  await warehouse.finishRun(run.runId, {
    status,
    finishedAt: clock.now(),
    summary: { ...reportJson(report), forecast: forecastErrorJson(forecast, allowance, report, error) },
    error: error?.code ?? null,
  });
  const problem = await publishRun(run);
  const ended = { ...report, ...(await readChecks(run)), finished_at: isoTime(clock.now()) };
  if (problem === null || status === "failed" || status === "interrupted") return { report: ended, error };
  return { report: { ...ended, status: "partial" }, error: problem };
};
