// Merges the results of a sync's family jobs into one report: the object printed by `sync --json`, also when the sync
// took several runs because workers stopped. PURE.
import type { StreamName } from "../src/catalog/streams.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { RunStatus, StreamReport, SyncReport } from "../src/core/report/sync-report.ts";
import type { RunTrace } from "../src/warehouse/read/read-run.ts";
import { type FamilyResult, type Problem, problemOf } from "./family.ts";

/** A family's job, finished or not. */
export interface FamilyEnd {
  readonly streams: readonly StreamName[];
  /** Its runs, oldest first; empty when it never ran. */
  readonly results: readonly FamilyResult[];
  /** Reason why it did not run, or not to its end; null: it did. */
  readonly problem: Problem | null;
}

/** Result of a sync. */
export interface SyncOutcome {
  readonly report: SyncReport;
  /** Reason why due work is left; null: none is. */
  readonly problem: Problem | null;
}

/** The sync ended at its deadline, which is no failure; the next one continues. */
const isLate = (problem: Problem | null): boolean => problem?.code === "DURATION_SPENT";
const isNoFailure = (problem: Problem | null): boolean =>
  problem === null || problem.code === "INTERRUPTED" || isLate(problem);

const unrun = (stream: StreamName, problem: Problem | null): StreamReport => ({
  stream,
  mode: "none",
  status: isNoFailure(problem) ? "interrupted" : "failed",
  requests: 0,
  credits: 0,
  pages: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  unchanged: 0,
  rejected: 0,
  complete: false,
  unconfirmed: 0,
  ...(problem === null || isNoFailure(problem) ? {} : { error: problem.message }),
});

const total = <T>(items: readonly T[], figure: (item: T) => number): number =>
  items.reduce((sum, item) => sum + figure(item), 0);

/** Report of a stream, including work of runs without a report. Later runs need not repeat that work. */
const withTraces = (report: StreamReport, traces: readonly RunTrace[]): StreamReport => {
  if (traces.length === 0) return report;
  return {
    ...report,
    status: report.status === "skipped" ? "done" : report.status,
    requests: report.requests + total(traces, ({ requests }) => requests),
    credits: report.credits + total(traces, ({ spent }) => spent),
    pages: report.pages + total(traces, ({ pages }) => pages),
    inserted: report.inserted + total(traces, ({ inserted }) => inserted),
    updated: report.updated + total(traces, ({ updated }) => updated),
    deleted: report.deleted + total(traces, ({ deleted }) => deleted),
    unchanged: report.unchanged + total(traces, ({ unchanged }) => unchanged),
    rejected: report.rejected + total(traces, ({ rejected }) => rejected),
  };
};

const sumOf = (stream: string, parts: readonly StreamReport[]): StreamReport | null => {
  const last = parts.at(-1);
  if (last === undefined) return null;
  const sum = (figure: (part: StreamReport) => number) => total(parts, figure);
  const modes = new Set(parts.flatMap(({ mode }) => mode.split("+")).filter((mode) => mode !== "none"));
  // If the continued run found nothing left to do, the stream is done, not skipped.
  const done = last.status === "skipped" && parts.some(({ status }) => status !== "skipped");
  return {
    stream,
    mode: [...modes].sort().join("+") || "none",
    status: done ? "done" : last.status,
    requests: sum((part) => part.requests),
    credits: sum((part) => part.credits),
    pages: sum((part) => part.pages),
    inserted: sum((part) => part.inserted),
    updated: sum((part) => part.updated),
    deleted: sum((part) => part.deleted),
    unchanged: sum((part) => part.unchanged),
    rejected: sum((part) => part.rejected),
    complete: last.complete,
    unconfirmed: last.unconfirmed,
    ...(last.unconfirmed_because === undefined ? {} : { unconfirmed_because: last.unconfirmed_because }),
    ...(last.error === undefined ? {} : { error: last.error }),
  };
};

const statusOf = (families: readonly FamilyEnd[], streams: readonly StreamReport[]): [RunStatus, Problem | null] => {
  const last = families.flatMap(({ results }) => results.slice(-1));
  const broken = families.find(({ problem }) => !isNoFailure(problem))?.problem ?? null;
  const failed = last.find(({ report }) => report.status === "failed");
  if (failed !== undefined || broken !== null) return ["failed", failed?.problem ?? broken];
  const stopped = last.find(({ report }) => report.status === "stopped");
  const late = families.find(({ problem }) => isLate(problem));
  if (stopped !== undefined || late !== undefined) return ["stopped", stopped?.problem ?? late?.problem ?? null];
  if (streams.some(({ status }) => status === "interrupted")) {
    return ["interrupted", problemOf(new DuckmirrorError("INTERRUPTED"))];
  }
  const names = streams.filter(({ status }) => status === "failed").map(({ stream }) => stream);
  if (names.length === 0) return ["done", null];
  return ["partial", problemOf(new DuckmirrorError("STREAMS_FAILED", { streams: names.join(", ") }))];
};

/** Merges many reports into one. `now`: end of the sync and, if it never ran, its start; ms since the epoch. */
export const mergeResults = (
  sync: {
    readonly syncId: string;
    readonly full: boolean;
    readonly snapshot: string;
    /** Requests and rows of its runs without a report, as far as the mirror has them. */
    readonly traces?: readonly RunTrace[];
  },
  families: readonly FamilyEnd[],
  now: number,
): SyncOutcome => {
  const all = families.flatMap(({ results }) => results.map(({ report }) => report));
  const runs = [...new Map(all.map((report) => [report.run_id, report])).values()].sort((a, b) =>
    a.started_at.localeCompare(b.started_at),
  );
  const traces = sync.traces ?? [];
  const streams = families.flatMap(({ streams: names, results, problem }) =>
    names.map((name) => {
      const parts = results.flatMap(({ report }) => report.streams.filter(({ stream }) => stream === name));
      const ended = sumOf(name, parts) ?? unrun(name, problem);
      return withTraces(
        ended.status === "interrupted" && isLate(problem) ? { ...ended, status: "stopped" } : ended,
        traces.filter(({ stream }) => stream === name),
      );
    }),
  );
  const [status, problem] = statusOf(families, streams);
  const at = new Date(now).toISOString();
  const credits = runs.at(-1)?.credits ?? { remaining: null, limit: null, resets_at: null };
  return {
    report: {
      run_id: sync.syncId,
      status,
      mode: runs.some(({ mode }) => mode === "full") || (runs.length === 0 && sync.full) ? "full" : "incremental",
      started_at: runs[0]?.started_at ?? at,
      finished_at:
        runs
          .map(({ finished_at }) => finished_at)
          .sort()
          .at(-1) ?? at,
      requests: total([...runs, ...traces], ({ requests }) => requests),
      credits: {
        ...credits,
        spent: total(runs, (run) => run.credits.spent) + total(traces, ({ spent }) => spent),
        ambiguous: total(runs, (run) => run.credits.ambiguous) + total(traces, ({ ambiguous }) => ambiguous),
      },
      streams,
      warehouse: sync.snapshot,
    },
    problem,
  };
};
