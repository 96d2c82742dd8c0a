// The end of a run: what it leaves in the mirror, its report, the publish.
import type { Quota } from "../../api/outcome.ts";
import { streamSpec, wantedContent } from "../../catalog/streams.ts";
import { type DuckmirrorError, type ErrorCode, isCode } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { problemOf } from "../../core/report/problem.ts";
import type { CheckReport, RunStatus, SyncReport, SyncResult } from "../../core/report/sync-report.ts";
import type { Unusable } from "../../core/state/unusable-answers.ts";
import { counted, formatBytes } from "../../core/text/units.ts";
import { isoTime } from "../../core/time.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { pruneHistory, pruneLedger } from "../../warehouse/file/upkeep/history-retention.ts";
import { readCheckResults } from "../../warehouse/read/check-results.ts";
import { readCreditsLeft } from "../plan/credits.ts";
import { forecastErrorJson } from "../plan/forecast/forecast.ts";
import { rememberUnusable } from "../plan/remembered.ts";
import type { BegunRun } from "./begin-run.ts";
import type { End } from "./how-it-ended.ts";
import { settleOwners } from "./settle/apply-absences.ts";
import { dropInsights } from "./settle/apply-deletes.ts";
import { eraseFollowers } from "./settle/remove-company.ts";
import { type ProvenStream, readCompleteness } from "./state/completeness.ts";
import type { Run } from "./state/run-state.ts";
import { closeScope, eraseOutside } from "./state/scope-marks.ts";

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
  for (const [stream, rows] of await eraseFollowers(deps.warehouse, scopeRun)) stats.of(stream).deleted += rows;
  for (const [stream, rows] of await eraseOutside(scopeRun, forms.ofStreams)) stats.of(stream).deleted += rows;
};

/** Removes what belonged to rows that are gone, and settles rows outside the scope. */
export const settleRest = async (run: Run<"forms" | "gone" | "stats">): Promise<void> => {
  // Owners and insights of erased accounts go with them.
  await endScope(run);
  const { inserted, updated, deleted } = run.stats.of("accounts");
  if (inserted + updated + deleted > 0 || run.gone.hasAllAccounts) await settleOwners(run);
  await dropInsights(run);
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
export const finishRun = async (begun: BegunRun, { status, error }: End): Promise<SyncResult> => {
  const { run, archive, quota, forecast, allowance } = begun;
  const { warehouse, clock } = run.deps;
  const { historyRetentionDays, ledgerRetentionDays } = run.options;
  await warehouse.commit({ runId: run.runId, loads: [], requests: [], scopes: [], quota: quota.take(true) });
  await warehouse.database.run(sqlText("plan/drop-finished-walks.sql"));
  // A token or a service that fails as a whole says nothing of single lists.
  const unusable = EVERYWHERE.includes(error?.code) ? run.unusable.before : run.unusable.known();
  const open = unusable.filter((entry) => isOpen(entry, run));
  await rememberUnusable(warehouse, open, clock.now());
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
