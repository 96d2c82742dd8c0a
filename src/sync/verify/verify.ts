// Verify: compares the mirror with the service at the fewest credits, and repairs differences on request.
// A run like any other: its requests are in the ledger, its responses in the archive, its changes in history.
import { COMPANY_LISTS, ORGANIZATION_LISTS, type StreamName } from "../../catalog/streams.ts";
import { tableSpec } from "../../catalog/tables.ts";
import { DuckmirrorError, EXIT } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json.ts";
import { creditsOfRuns, unusedRunId } from "../../warehouse/file/run-ids.ts";
import { countByValue, sampleIds } from "../../warehouse/load/compare.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { openBudgets } from "../budgets/budget-book.ts";
import { stateKey } from "../plan/candidate.ts";
import { readScopeRows } from "../plan/mirror-view.ts";
import { readShapes } from "../plan/remembered.ts";
import { recover } from "../recovery/recover.ts";
import { createFetcher } from "../request/fetcher.ts";
import { DETAIL_SCOPE, INPUT_SCOPE } from "../rows/loads.ts";
import { newRunId } from "../run/run-sync.ts";
import { createEnding } from "../running/ending.ts";
import { createQuotaRecorder } from "../running/quota-recorder.ts";
import type { SyncDeps, SyncOptions } from "../running/run-state.ts";
import { type Check, planChecks, type VerifyFacts } from "./checks.ts";
import { checkFilter, checkPage, type Finding } from "./lists.ts";
import { checkIds, checkRecord, checkSignalCounts } from "./records.ts";
import { recount, repairCounts, walkCredits } from "./repair.ts";
import type { CheckReport, Difference, VerifyReport } from "./report.ts";
import type { VerifyRun } from "./session.ts";

export interface VerifyOptions {
  readonly sync: SyncOptions;
  /** Number of records to compare per stream. */
  readonly sample: number;
  readonly repair: boolean;
  /** Id of the run, or its prefix if a run that lost its worker has it already; unset: generated. */
  readonly runId?: string;
}

export interface VerifyResult {
  readonly report: VerifyReport;
  /** null: everything compared is equal. */
  readonly error: DuckmirrorError | null;
}

const LISTS: ReadonlySet<StreamName> = new Set([...ORGANIZATION_LISTS, ...COMPANY_LISTS]);
/** Consecutive failed checks before the service counts as down. */
const MOST_FAILURES = 3;

const valuesOf = async (deps: SyncDeps, field: "type" | "changeType"): Promise<readonly string[]> => {
  const spec = tableSpec("contacts").fields.find(({ name }) => name === field);
  const mirrored = await countByValue(deps.warehouse.database, "contacts", spec?.column ?? "");
  return [...new Set([...(spec?.allowed ?? []).map(String), ...mirrored.keys()])];
};

const readFacts = async (
  deps: SyncDeps,
  options: VerifyOptions,
  states: readonly ScopeState[],
  pageSize: VerifyFacts["pageSize"],
): Promise<VerifyFacts> => {
  const { database } = deps.warehouse;
  const seed = Math.floor(deps.random() * 2 ** 32);
  const rows = await readScopeRows(database);
  const draw = (table: Parameters<typeof sampleIds>[1]) => sampleIds(database, table, seed, options.sample);
  return {
    lists: states.flatMap(({ stream, scope, walkedAt }) => {
      const whole = scope === "" || walkedAt !== null;
      const own = LISTS.has(stream) && !scope.startsWith(DETAIL_SCOPE) && !scope.startsWith(INPUT_SCOPE);
      return own && whole ? [{ stream, scope, rows: rows.get(stateKey(stream, scope)) ?? 0 }] : [];
    }),
    pageSize,
    accounts: await draw("accounts"),
    contacts: await draw("contacts"),
    signals: await draw("signals"),
    companies: await draw("companies"),
    insights: await draw("account_insights"),
    contactTypes: await valuesOf(deps, "type"),
    contactChangeTypes: await valuesOf(deps, "changeType"),
  };
};

const make = (run: VerifyRun, check: Check): Promise<Finding> => {
  switch (check.kind) {
    case "page":
      return checkPage(run, check);
    case "filter":
      return checkFilter(run, check);
    case "ids":
      return checkIds(run, check);
    case "signal-counts":
      return checkSignalCounts(run);
    case "detail":
    case "company":
    case "insight":
      return checkRecord(run, check);
    default:
      return check satisfies never;
  }
};

const scopeOf = (check: Check): string => {
  if (check.kind === "page") return check.scope;
  if (check.kind === "filter") return `${check.param}=${check.value}`;
  return "id" in check ? check.id : "";
};

/** One entry per difference, even if several checks found it; a repaired difference counts as repaired. */
const distinct = (differences: readonly Difference[]): readonly Difference[] => {
  const known = new Map<string, Difference>();
  for (const difference of differences) {
    const { stream, scope, kind, key, field } = difference;
    const id = JSON.stringify([stream, scope, kind, key, field]);
    const before = known.get(id);
    known.set(id, { ...difference, repaired: difference.repaired || before?.repaired === true });
  }
  return [...known.values()];
};

/** Takes what earlier runs of this id have cost out of the ledger's allowance. Returns that, in credits. */
const chargeEarlierRuns = async ({ ledger, warehouse }: SyncDeps, runId: string): Promise<number> => {
  const credits = await creditsOfRuns(warehouse, runId);
  for (let left = credits; left > 0; left -= 1) {
    const reservation = ledger.tryReserve();
    if (!reservation.ok) break;
    ledger.settle(reservation.id, "spent");
  }
  return credits;
};

/** Credits that this verification may still spend. */
const creditsLeft = (ledger: SyncDeps["ledger"]): number => {
  const { allowance, spent, reserved, ambiguous } = ledger.snapshot();
  return allowance === null ? Number.POSITIVE_INFINITY : allowance - spent - reserved - ambiguous;
};

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

const summaryOf = (report: VerifyReport): JsonValue => ({
  run_id: report.run_id,
  credits: { ...report.credits },
  checks: report.checks.length,
  checks_left: report.checks_left,
  differences: report.differences.length,
  repaired: report.differences.filter(({ repaired }) => repaired).length,
});

const errorOf = (differences: readonly Difference[]): DuckmirrorError | null => {
  if (differences.length === 0) return null;
  const repaired = differences.filter((difference) => difference.repaired).length;
  return new DuckmirrorError("VERIFY_DIFFERS", {
    count: differences.length,
    repaired: repaired === 0 ? "" : `, ${repaired} of them repaired`,
  });
};

/**
 * Runs one verification. Never exceeds the ledger's allowance, repairs included. Throws SNAPSHOT_MISSING when nothing
 * is mirrored; otherwise rejects only on faults.
 */
export const runVerify = async (options: VerifyOptions, deps: SyncDeps): Promise<VerifyResult> => {
  const { warehouse, clock, emit, ledger } = deps;
  const startedAt = clock.now();
  await recover(warehouse, deps.archive, await readScopeRows(warehouse.database), startedAt, deps.unsent);
  const states = await warehouse.scopeStates();
  if (states.length === 0) throw new DuckmirrorError("SNAPSHOT_MISSING", { file: warehouse.snapshot });
  const shapes = await readShapes(warehouse);
  const pageSize = (stream: StreamName) => shapes.get(stream)?.perPage ?? options.sync.largestPage;
  const facts = await readFacts(deps, options, states, pageSize);
  const { streams } = options.sync;
  const checks = planChecks(facts, { streams, sample: options.sample, random: deps.random });

  const earlier = options.runId === undefined ? 0 : await chargeEarlierRuns(deps, options.runId);
  const runId =
    options.runId === undefined ? newRunId(startedAt, deps.random) : await unusedRunId(warehouse, options.runId);
  await warehouse.startRun({ runId, mode: "verify", startedAt, forecast: { requests: checks.length } });
  const quota = createQuotaRecorder(clock);
  const archive = deps.archive.open({ runId, now: startedAt });
  let sequence = 0;
  const ending = createEnding(deps);
  const { signal, hardSignal, stop } = ending;
  const ended = { ...deps, signal, hardSignal };
  const run: VerifyRun = {
    runId,
    options: options.sync,
    deps: ended,
    ending,
    fetcher: createFetcher(
      { ...ended, stop, archive, onQuota: quota.see },
      () => `${runId}-${(++sequence).toString(36)}`,
    ),
    budgets: await openBudgets(options.sync.budgets, deps),
    shapes,
    states: new Map(states.map((state) => [stateKey(state.stream, state.scope), state])),
    repair: options.repair,
    totals: new Map(),
    commit: async (requests, loads) => {
      await archive.flush();
      await warehouse.commit({ runId, loads, requests, scopes: [], quota: null });
    },
    credits: 0,
  };

  const pagesOf = (stream: StreamName, scope: string) => {
    const rows = facts.lists.find((list) => list.stream === stream && list.scope === scope)?.rows ?? 1;
    return LISTS.has(stream) ? Math.ceil(rows / pageSize(stream)) : 1;
  };
  const reports: CheckReport[] = [];
  let differences: Difference[] = [];
  let failures = 0;
  let failed: string | null = null;
  let made = 0;
  const tell = (stream: string, records: number) => {
    const mine = reports.filter((report) => report.stream === stream);
    const credits = mine.reduce((sum, report) => sum + report.credits, 0);
    const count = { requests: mine.length, credits, rows: records, pagesDone: mine.length };
    emit({ kind: "page", stream, ...count, pagesTotal: null, rowsTotal: null });
  };
  try {
    for (const check of checks) {
      if (signal.aborted || failures >= MOST_FAILURES) break;
      const before = run.credits;
      const found = await make(run, check);
      if (found.status === "stopped") break;
      made += 1;
      failures = found.status === "failed" ? failures + 1 : 0;
      if (found.status === "failed") failed ??= found.note;
      differences = [...differences, ...found.differences];
      if (options.repair && found.differences.length > 0) differences = [...(await recount(deps, differences))];
      reports.push({
        check: check.kind,
        stream: check.stream,
        scope: scopeOf(check),
        status: found.status,
        records: found.records,
        credits: run.credits - before,
        note: found.note,
      });
      tell(check.stream, found.records);
      if (signal.aborted || (options.repair && creditsLeft(ledger) <= walkCredits(differences, pagesOf))) break;
    }
  } finally {
    ending.close();
    await archive.close();
  }
  differences = [...distinct(differences)];

  const reportOf = (before = 0): VerifyReport => {
    const { limit, remaining, resetsAt } = ledger.snapshot();
    return {
      run_id: runId,
      credits: { spent: before + run.credits, remaining, limit, resets_at: iso(resetsAt) },
      checks: reports,
      checks_left: checks.length - made,
      differences,
    };
  };
  await warehouse.commit({ runId, loads: [], requests: [], scopes: [], quota: quota.take(true) });
  const showed = reports.some(({ status }) => status === "equal" || status === "differs");
  const reason = ending.reason();
  const interrupted = reason?.kind === "interrupted" ? new DuckmirrorError("INTERRUPTED") : null;
  const stopped = reason?.kind === "stopped" ? reason.error : null;
  const broken =
    failed === null || showed ? null : new DuckmirrorError("REQUEST_FAILED", { endpoint: "verify", detail: failed });
  const credentials = stopped?.exitCode === EXIT.budget && showed ? null : stopped;
  const early = credentials ?? interrupted ?? broken;
  const first = reportOf();
  await warehouse.finishRun(runId, {
    status: early === null ? "done" : early.exitCode === EXIT.budget ? "stopped" : "failed",
    finishedAt: clock.now(),
    summary: summaryOf(first),
    error: early?.code ?? errorOf(differences)?.code ?? null,
  });
  if (options.repair && early === null && differences.some(({ repaired }) => !repaired)) {
    const repairs = await repairCounts(options.sync, deps, runId, differences);
    differences = [...repairs.differences];
    run.credits += repairs.credits;
  }
  const published = await warehouse.publish();
  emit({ kind: "published", path: published.path, bytes: published.bytes, ms: published.durationMs });
  return { report: reportOf(earlier), error: early ?? errorOf(differences) };
};
