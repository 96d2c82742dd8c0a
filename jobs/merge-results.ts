// Merges the results of a sync's family jobs into one report: the object printed by `sync --json`, also when the sync
// took several runs because workers stopped. PURE.
import type { StreamName } from "../src/catalog/streams.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { RunStatus, StreamReport, SyncReport } from "../src/core/sync-report.ts";
import type { RunSpending } from "../src/warehouse/read/read-run.ts";
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

const unrun = (stream: StreamName, problem: Problem | null): StreamReport => ({
  stream,
  mode: "none",
  status: problem === null || problem.code === "INTERRUPTED" ? "interrupted" : "failed",
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
  ...(problem === null || problem.code === "INTERRUPTED" ? {} : { error: problem.message }),
});

const sumOf = (stream: string, parts: readonly StreamReport[]): StreamReport | null => {
  const last = parts.at(-1);
  if (last === undefined) return null;
  const total = (figure: (part: StreamReport) => number) => parts.reduce((sum, part) => sum + figure(part), 0);
  const modes = new Set(parts.flatMap(({ mode }) => mode.split("+")).filter((mode) => mode !== "none"));
  // If the continued run found nothing left to do, the stream is done, not skipped.
  const done = last.status === "skipped" && parts.some(({ status }) => status !== "skipped");
  return {
    stream,
    mode: [...modes].sort().join("+") || "none",
    status: done ? "done" : last.status,
    requests: total((part) => part.requests),
    credits: total((part) => part.credits),
    pages: total((part) => part.pages),
    inserted: total((part) => part.inserted),
    updated: total((part) => part.updated),
    deleted: total((part) => part.deleted),
    unchanged: total((part) => part.unchanged),
    rejected: total((part) => part.rejected),
    complete: last.complete,
    unconfirmed: last.unconfirmed,
    ...(last.unconfirmed_because === undefined ? {} : { unconfirmed_because: last.unconfirmed_because }),
    ...(last.error === undefined ? {} : { error: last.error }),
  };
};

const statusOf = (families: readonly FamilyEnd[], streams: readonly StreamReport[]): [RunStatus, Problem | null] => {
  const last = families.flatMap(({ results }) => results.slice(-1));
  const broken = families.find(({ problem }) => problem !== null && problem.code !== "INTERRUPTED")?.problem ?? null;
  const failed = last.find(({ report }) => report.status === "failed");
  if (failed !== undefined || broken !== null) return ["failed", failed?.problem ?? broken];
  const stopped = last.find(({ report }) => report.status === "stopped");
  if (stopped !== undefined) return ["stopped", stopped.problem];
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
    /** Requests of all its runs, as far as the mirror has them. */
    readonly spending?: readonly RunSpending[];
  },
  families: readonly FamilyEnd[],
  now: number,
): SyncOutcome => {
  const all = families.flatMap(({ results }) => results.map(({ report }) => report));
  const runs = [...new Map(all.map((report) => [report.run_id, report])).values()].sort((a, b) =>
    a.started_at.localeCompare(b.started_at),
  );
  // A killed run reported nothing, but its requests are in the ledger.
  const untold = (sync.spending ?? []).filter(({ run_id }) => !runs.some((run) => run.run_id === run_id));
  const streams = families.flatMap(({ streams: names, results, problem }) =>
    names.map((name) => {
      const parts = results.flatMap(({ report }) => report.streams.filter(({ stream }) => stream === name));
      const told = sumOf(name, parts) ?? unrun(name, problem);
      const more = untold.filter(({ stream }) => stream === name);
      const requests = more.reduce((sum, row) => sum + row.requests, told.requests);
      return { ...told, requests, credits: more.reduce((sum, row) => sum + row.spent, told.credits) };
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
      requests: [...runs, ...untold].reduce((sum, run) => sum + run.requests, 0),
      credits: {
        ...credits,
        spent: untold.reduce(
          (sum, run) => sum + run.spent,
          runs.reduce((sum, run) => sum + run.credits.spent, 0),
        ),
        ambiguous: runs.reduce((sum, run) => sum + run.credits.ambiguous, 0),
      },
      streams,
      warehouse: sync.snapshot,
    },
    problem,
  };
};
