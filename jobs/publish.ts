// Job publish: the last step of a worker's sync. Publishes the snapshot if it lacks the sync's runs, and joins the reports of its runs to
// one, the object that `sync --json` prints (a sync has several runs if a worker stopped meanwhile).
import { z } from "zod";
import { type StreamName, streamSpec } from "../src/catalog/streams.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { DuckmirrorError, isCode } from "../src/core/errors.ts";
import { type Problem, problemOf, problemSchema } from "../src/core/report/problem.ts";
import {
  type RunStatus,
  type StreamReport,
  type SyncReport,
  sumOfFigures,
  syncReportSchema,
} from "../src/core/report/sync-report.ts";
import type { SyncResult } from "../src/sync/run/run-sync.ts";
import { isUnused } from "../src/warehouse/file/empty-mirror.ts";
import { type RunTrace, readRun, readTraces } from "../src/warehouse/read/read-run.ts";
import { withWarehouse, writingOptions } from "./home.ts";

/** Result of one run, as stored. */
export const runResultSchema = z.object({
  report: syncReportSchema,
  /** Reason why the run is incomplete. */
  problem: problemSchema.nullable(),
});
export type RunResult = z.output<typeof runResultSchema>;

export const runResultOf = ({ report, error }: SyncResult): RunResult => ({
  report,
  problem: error === null ? null : problemOf(error),
});

/** A sync whose runs are over. */
export interface EndedSync {
  readonly syncId: string;
  readonly full: boolean;
  readonly streams: readonly StreamName[];
  /** Its runs, oldest first; empty when it never ran. */
  readonly results: readonly RunResult[];
  /** Reason why it did not run, or not to its end; null: it did. */
  readonly problem: Problem | null;
}

/** Result of a sync. */
export interface SyncOutcome {
  readonly report: SyncReport;
  /** Reason why due work is left; null: none is. */
  readonly problem: Problem | null;
}

/** Streams for a further run of a sync: the open ones, and those whose due work depends on what the others load. */
export const openStreams = (all: readonly StreamName[], open: readonly StreamName[]): readonly StreamName[] =>
  open.length === 0 ? [] : all.filter((name) => open.includes(name) || streamSpec(name).scope !== "organization");

/** The sync ended at its deadline, which is no failure; the next one continues. */
const isLate = (problem: Problem | null): boolean => problem?.code === "DURATION_SPENT";
const isNoFailure = (problem: Problem | null): boolean =>
  problem === null || problem.code === "INTERRUPTED" || isLate(problem);

const total = <T>(items: readonly T[], figure: (item: T) => number): number =>
  items.reduce((sum, item) => sum + figure(item), 0);

const unrun = (stream: StreamName, problem: Problem | null): StreamReport => ({
  stream,
  mode: "none",
  status: isNoFailure(problem) ? "interrupted" : "failed",
  ...sumOfFigures([]),
  complete: false,
  unconfirmed: 0,
  ...(problem === null || isNoFailure(problem) ? {} : { error: problem.message }),
});

/** Report of a stream, including work of runs without a report. Later runs need not repeat that work. */
const withTraces = (report: StreamReport, traces: readonly RunTrace[]): StreamReport => {
  if (traces.length === 0) return report;
  return {
    ...report,
    status: report.status === "skipped" ? "done" : report.status,
    ...sumOfFigures([report, ...traces.map((trace) => ({ ...trace, credits: trace.spent }))]),
  };
};

/** The report of a stream that several runs read: the last one's, with all of their figures. */
const joined = (parts: readonly StreamReport[]): StreamReport | null => {
  const last = parts.at(-1);
  if (last === undefined) return null;
  const modes = new Set(parts.flatMap(({ mode }) => mode.split("+")).filter((mode) => mode !== "none"));
  // If the continued run found nothing left to do, the stream is done, not skipped.
  const done = last.status === "skipped" && parts.some(({ status }) => status !== "skipped");
  return {
    ...last,
    mode: [...modes].sort().join("+") || "none",
    status: done ? "done" : last.status,
    ...sumOfFigures(parts),
  };
};

/** What the user's checks found wrong after every stream was read. */
const CHECKED: readonly string[] = ["CHECK_FAILED", "CHECK_BROKEN"];

const statusOf = (sync: EndedSync, streams: readonly StreamReport[]): [RunStatus, Problem | null] => {
  const last = sync.results.at(-1) ?? null;
  const broken = isNoFailure(sync.problem) ? null : sync.problem;
  const hasFailed = last?.report.status === "failed";
  if (hasFailed || broken !== null) return ["failed", (hasFailed ? last.problem : null) ?? broken];
  const late = isLate(sync.problem) ? sync.problem : null;
  const isStopped = last?.report.status === "stopped";
  if (isStopped || late !== null) return ["stopped", (isStopped ? last.problem : null) ?? late];
  if (streams.some(({ status }) => status === "interrupted")) {
    return ["interrupted", problemOf(new DuckmirrorError("INTERRUPTED"))];
  }
  const unchecked = last?.problem ?? null;
  if (unchecked !== null && CHECKED.includes(unchecked.code)) return ["partial", unchecked];
  const names = streams.filter(({ status }) => status === "failed").map(({ stream }) => stream);
  if (names.length === 0) return ["done", null];
  return ["partial", problemOf(new DuckmirrorError("STREAMS_FAILED", { streams: names.join(", ") }))];
};

/**
 * One report of a sync. `traces`: requests and rows of its runs without a report, as far as the mirror has them. `now`: end
 * of the sync and, if it never ran, its start; ms since the epoch. Pure.
 */
export const outcomeOf = (
  sync: EndedSync,
  { snapshot, traces = [] }: { readonly snapshot: string; readonly traces?: readonly RunTrace[] },
  now: number,
): SyncOutcome => {
  const runs = sync.results.map(({ report }) => report);
  const isOver = isLate(sync.problem);
  const streams = sync.streams.map((name) => {
    const parts = runs.flatMap((run) => run.streams.filter(({ stream }) => stream === name));
    const ended = joined(parts) ?? unrun(name, sync.problem);
    return withTraces(
      ended.status === "interrupted" && isOver ? { ...ended, status: "stopped" } : ended,
      traces.filter(({ stream }) => stream === name),
    );
  });
  const [status, problem] = statusOf(sync, streams);
  const at = new Date(now).toISOString();
  const credits = runs.at(-1)?.credits ?? { remaining: null, limit: null, resets_at: null };
  return {
    report: {
      run_id: sync.syncId,
      status,
      mode: runs.some(({ mode }) => mode === "full") || (runs.length === 0 && sync.full) ? "full" : "incremental",
      started_at: runs[0]?.started_at ?? at,
      finished_at: runs.at(-1)?.finished_at ?? at,
      requests: total([...runs, ...traces], ({ requests }) => requests),
      credits: {
        ...credits,
        spent: total(runs, (run) => run.credits.spent) + total(traces, ({ spent }) => spent),
        ambiguous: total(runs, (run) => run.credits.ambiguous) + total(traces, ({ ambiguous }) => ambiguous),
      },
      streams,
      ...(runs.at(-1)?.checks === undefined ? {} : { checks: runs.at(-1)?.checks }),
      warehouse: snapshot,
    },
    problem,
  };
};

/** Errors that can strike a run after its last commit. */
const FAULTS: readonly string[] = ["DISK_FULL", "NO_MEMORY", "UNEXPECTED"];

/** A run publishes at its end, unless it was killed or the disk was full before that. A mirror that is gone has nothing. */
const isCurrent = async (dataDir: string, { problem, results }: EndedSync): Promise<boolean> => {
  if (isUnused(dataDir)) return true;
  const problems = [problem, ...results.map((result) => result.problem)];
  // Another worker has the mirror, and publishes.
  if (problems.some((each) => each?.code === "HOME_TAKEN")) return true;
  if (problems.some((each) => each !== null && FAULTS.includes(each.code))) return false;
  if (problems.some((each) => each?.code === "CHECK_FAILED")) return true;
  for (const { report } of results) {
    const run = await readRun(snapshotPath(dataDir), report.run_id);
    if (run === null || run.status === "running") return false;
  }
  return true;
};

interface PublishContext {
  readonly clock: Clock;
  /** Ends checks soon after it aborts. */
  readonly signal: AbortSignal;
}

/** Publishes if needed, and returns the sync's report with the work of runs that left none. */
const publishAndReport = async (config: Config, sync: EndedSync, { clock, signal }: PublishContext) => {
  const snapshot = snapshotPath(config.dataDir);
  if (!(await isCurrent(config.dataDir, sync))) {
    await withWarehouse({ ...writingOptions(config, clock), stop: signal }, (warehouse) => warehouse.publish());
  }
  const reported = new Set(sync.results.map(({ report }) => report.run_id));
  const traces = await readTraces(snapshot, sync.syncId, reported);
  return outcomeOf(sync, { snapshot, traces }, clock.now());
};

/**
 * Publishes if needed. Throws WRITER_BUSY, QUERY_FAILED, DISK_FULL, INTERRUPTED. A sync that a fault has ended keeps its report where
 * the same fault, such as a full disk, makes the publish fail.
 */
export const publishJob = async (config: Config, sync: EndedSync, context: PublishContext): Promise<SyncOutcome> => {
  const { clock } = context;
  try {
    return await publishAndReport(config, sync, context);
  } catch (error) {
    if (sync.results.at(-1)?.report.status !== "failed" || isCode(error, "WRITER_BUSY")) throw error;
    return outcomeOf(sync, { snapshot: snapshotPath(config.dataDir) }, clock.now());
  }
};
