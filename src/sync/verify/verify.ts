// Runs `verify`: compares the mirror with the service for the fewest credits, and repairs differences on request. Like a sync it is a run:
// its requests are in the ledger, its responses in the archive, its changes in history.

import { createQuotaRecorder } from "../../budget/credits/local-ledger.ts";
import type { StreamName } from "../../catalog/streams.ts";
import { DuckmirrorError, EXIT } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json.ts";
import { accessOf } from "../../core/state/tier.ts";
import { newRunId } from "../../core/text/run-id.ts";
import { isoTimeOrNull } from "../../core/time.ts";
import { creditsOfRuns, unusedRunId } from "../../warehouse/read/read-run.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { openBudgetTracker } from "../plan/budgets.ts";
import { stateKey } from "../plan/candidate.ts";
import { storedFormsIn } from "../plan/capabilities.ts";
import { readScopeRows } from "../plan/mirror-view.ts";
import { recover } from "../recovery/recover.ts";
import { createFetcher } from "../request/fetcher.ts";
import { createEnding } from "../run/state/ending.ts";
import type { SyncDeps, SyncOptions } from "../run/state/run-input.ts";
import { closeScope, openScope } from "../run/state/scope-marks.ts";
import { type Check, comparable, planChecks } from "./checks.ts";
import { settledLists } from "./judge-difference.ts";
import { makeChecks, readFacts } from "./make-checks.ts";
import { repairCounts } from "./repair.ts";
import { differencesError, distinct, earlyEnd, type Findings, type VerifyReport, wrongOnes } from "./report.ts";
import type { VerifyRun } from "./verify-run.ts";

interface VerifyOptions {
  readonly sync: SyncOptions;
  /** Number of records to compare per stream. */
  readonly sample: number;
  /** Compare counts only, of parts where a filter cuts the list. */
  readonly counts?: boolean;
  readonly repair: boolean;
  /** Id of the run, or its prefix if a run that lost its worker has it already; unset: generated. */
  readonly runId?: string;
}

export interface VerifyResult {
  readonly report: VerifyReport;
  /** null: nothing compared is wrong. */
  readonly error: DuckmirrorError | null;
}

/** Takes what earlier runs of this id have cost out of the ledger's allowance. Returns that, in credits. */
const chargeEarlierRuns = async ({ ledger, warehouse }: SyncDeps, runId: string): Promise<number> => {
  const credits = await creditsOfRuns(warehouse.database, runId);
  for (let left = credits; left > 0; left -= 1) {
    const reservation = ledger.tryReserve();
    if (!reservation.ok) break;
    ledger.settle(reservation.id, "spent");
  }
  return credits;
};

const summaryOf = (report: VerifyReport): JsonValue => ({
  run_id: report.run_id,
  credits: { ...report.credits },
  checks: report.checks.length,
  checks_left: report.checks_left,
  differences: wrongOnes(report.differences).length,
  newer: report.differences.length - wrongOnes(report.differences).length,
  repaired: wrongOnes(report.differences).filter(({ repaired }) => repaired).length,
});

/** The streams to compare; reports those that the organization's tier leaves out. */
const comparedStreams = (
  { streams, allowMassDelete }: SyncOptions,
  { tier, emit }: SyncDeps,
  now: number,
): readonly StreamName[] => {
  const compared = comparable(streams, accessOf(tier.known, now, allowMassDelete));
  const others = streams.filter((name) => !compared.includes(name));
  const text = `not compared, as the organization has no Full Access: ${others.join(", ")}. \`duckmirror check --probe\` asks again.`;
  if (others.length > 0) emit({ kind: "note", level: "info", text });
  return compared;
};

/** What the mirror holds, and the checks of it, the most valuable first. */
const planned = async (
  options: VerifyOptions,
  deps: SyncDeps,
  states: readonly ScopeState[],
  shapes: VerifyRun["shapes"],
) => {
  const { sample, counts = false, sync } = options;
  const pageSize = (stream: StreamName) => shapes.get(stream)?.perPage ?? sync.largestPage;
  const facts = await readFacts(deps, sample, states, pageSize);
  const streams = comparedStreams(sync, deps, deps.clock.now());
  return { facts, checks: planChecks(facts, { streams, sample, counts, random: deps.random }) };
};

/** The run, with the archive to close and the quota to store at its end. */
const openRun = (
  { sync, repair }: VerifyOptions,
  deps: SyncDeps,
  known: Pick<VerifyRun, "runId" | "budgets" | "shapes" | "states" | "settled">,
  startedAt: number,
) => {
  const { runId } = known;
  const quota = createQuotaRecorder(deps.clock);
  const archive = deps.archive.open({ runId, now: startedAt });
  const ending = createEnding(deps);
  const { signal, hardSignal, stop } = ending;
  const ended = { ...deps, signal, hardSignal };
  const run: VerifyRun = {
    ...known,
    options: sync,
    deps: ended,
    ending,
    fetcher: createFetcher({ ...ended, stop, archive, onQuota: quota.see }, runId),
    moved: new Set(),
    repair,
    totals: new Map(),
    commit: async (requests, loads) => {
      await archive.flush();
      await deps.warehouse.commit({ runId, loads, requests, scopes: [], quota: null });
    },
    credits: 0,
  };
  return { run, archive, quota };
};

/** `credits`: spent by earlier runs of this id, and by this one. */
const reportOf = (run: VerifyRun, findings: Findings, checks: readonly Check[], credits: number): VerifyReport => {
  const { limit, remaining, resetsAt } = run.deps.ledger.snapshot();
  return {
    run_id: run.runId,
    credits: { spent: credits, remaining, limit, resets_at: isoTimeOrNull(resetsAt) },
    checks: findings.reports,
    checks_left: checks.length - findings.reports.length,
    differences: findings.differences,
  };
};

/** Walks the lists whose counts differ, if that is wanted and the verification came to its end. */
const repaired = async (options: VerifyOptions, deps: SyncDeps, run: VerifyRun, findings: Findings) => {
  const isOpen = findings.differences.some((difference) => !difference.repaired);
  if (!options.repair || !isOpen) return findings;
  const repairs = await repairCounts(options.sync, deps, run.runId, findings.differences);
  run.credits += repairs.credits;
  return { ...findings, differences: repairs.differences };
};

/**
 * Runs one verification. Never exceeds the ledger's allowance, repairs included. Throws SNAPSHOT_MISSING when nothing
 * is mirrored; otherwise rejects only on faults.
 */
export const runVerify = async (options: VerifyOptions, deps: SyncDeps): Promise<VerifyResult> => {
  const { warehouse, clock, emit } = deps;
  const startedAt = clock.now();
  const runId =
    options.runId === undefined
      ? newRunId(startedAt, deps.random)
      : await unusedRunId(warehouse.database, options.runId);
  await recover(warehouse, deps.archive, () => readScopeRows(warehouse.database), startedAt);
  const stored = await warehouse.scopeStates();
  if (stored.length === 0) throw new DuckmirrorError("SNAPSHOT_MISSING", { file: warehouse.snapshot });
  const shapes = storedFormsIn(await warehouse.capabilities());
  const scope = { warehouse, rowScope: options.sync.rowScope, runId, now: startedAt };
  await openScope(scope, shapes);
  const { facts, checks } = await planned(options, deps, stored, shapes);
  const budgets = await openBudgetTracker(options.sync.budgets, deps);
  const earlier = options.runId === undefined ? 0 : await chargeEarlierRuns(deps, options.runId);
  await warehouse.startRun({ runId, mode: "verify", startedAt, forecast: { requests: checks.length } });
  const states = new Map(stored.map((state) => [stateKey(state.stream, state.scope), state]));
  const known = { runId, shapes, states, settled: settledLists(facts, states), budgets };
  const { run, archive, quota } = openRun(options, deps, known, startedAt);
  let findings: Findings;
  try {
    findings = await makeChecks(run, checks, facts);
  } finally {
    run.ending.close();
    await archive.close();
  }
  findings = { ...findings, differences: distinct(findings.differences) };
  await warehouse.commit({ runId, loads: [], requests: [], scopes: [], quota: quota.take(true) });
  const early = earlyEnd(run.ending.reason(), findings);
  // What differs and stays so is no success; a repair is a run of its own.
  const foundStatus = wrongOnes(findings.differences).every(({ repaired }) => repaired) ? "done" : "partial";
  await warehouse.finishRun(runId, {
    status: early === null ? foundStatus : early.exitCode === EXIT.budget ? "stopped" : "failed",
    finishedAt: clock.now(),
    summary: summaryOf(reportOf(run, findings, checks, run.credits)),
    error: early?.code ?? differencesError(findings.differences)?.code ?? null,
  });
  if (early === null) findings = await repaired(options, deps, run, findings);
  await closeScope(scope, shapes);
  // The end of the run marked them while the lists that are read whole counted all of their rows, and repairs came later.
  await warehouse.mark({ of: "followers" });
  const published = await warehouse.publish();
  emit({ kind: "published", path: published.path, bytes: published.bytes, ms: published.durationMs });
  const report = reportOf(run, findings, checks, earlier + run.credits);
  return { report, error: early ?? differencesError(findings.differences) };
};
