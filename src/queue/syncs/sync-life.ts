// State of a sync that has not ended, and the decision after each of its runs: ended, or another run. PURE. A sync whose worker was lost
// runs again from its cursor, also one that had ended: it then only reports that end. If Redis loses its memory, the sync is requested
// again.
import type { RunResult } from "../../../jobs/publish.ts";
import { DuckmirrorError, isCode } from "../../core/errors.ts";
import { type Problem, problemOf } from "../../core/report/problem.ts";
import type { RequestedState } from "../../core/report/triggers.ts";
import type { SyncTimes } from "../redis/marks.ts";
import { BUSY_MS, HANDED_ON_MS } from "../requests/stored-failures.ts";

/** Time left for a sync, ms. null: unlimited. */
export interface TimeLeft {
  readonly leftMs: number | null;
  /** Counted from the start of its first run. */
  readonly runMs: number | null;
}

/** `timeoutMs`: time limit of a sync of its profile, counted from the first start, over all its runs. */
export const timeLeftOf = ({ now, startedAt, dueAt }: SyncTimes, timeoutMs: number | null): TimeLeft => {
  const ends = [dueAt, startedAt === null || timeoutMs === null ? null : startedAt + timeoutMs];
  const first = ends.reduce((a, b) => (a === null || b === null ? (a ?? b) : Math.min(a, b)), null);
  return { leftMs: first === null ? null : first - now, runMs: startedAt === null ? timeoutMs : null };
};

/** State of a sync that has not ended. A waiting one that was cancelled, or is past its deadline, never starts. */
export const openState = ({ now, startedAt, dueAt }: SyncTimes, cancelled: boolean): RequestedState => {
  // A run that started exactly at the deadline does not count.
  if (startedAt !== null && (dueAt === null || startedAt < dueAt)) return "running";
  if (cancelled) return "cancelled";
  return dueAt !== null && dueAt <= now ? "stopped" : "queued";
};

/** Number of runs ended by Redis after which the sync fails. */
const MOST_BROKEN_OFF = 20;

/** Decision on the job of a sync: end it, for a reason or with all that was asked for; or run again. */
export type NextStep =
  | { readonly kind: "end"; readonly problem: Problem | null }
  | { readonly kind: "again"; readonly afterMs: number };

const INTERRUPTED = problemOf(new DuckmirrorError("INTERRUPTED"));
/** Problem of a sync that ended at its deadline. */
export const LATE: Problem = problemOf(new DuckmirrorError("DURATION_SPENT"));

/** Redis was away, which is no failure of the streams, so the job runs again from the cursor. */
const isBrokenOff = ({ report, problem }: RunResult): boolean =>
  report.status === "failed" && problem?.code === "REDIS_UNAVAILABLE";

/** The streams that none of these runs settles. */
export const unsettled = <T extends string>(results: readonly RunResult[], streams: readonly T[]): readonly T[] =>
  streams.filter(
    (name) =>
      !results.some(
        (result) =>
          !isBrokenOff(result) &&
          result.report.streams.some(({ stream, status }) => stream === name && status !== "interrupted"),
      ),
  );

/** Decision on a sync after its runs, oldest first. */
export const stepAfter = (results: readonly RunResult[], streams: readonly string[], cancelled: boolean): NextStep => {
  const last = results.at(-1);
  if (unsettled(results, streams).length === 0) return { kind: "end", problem: null };
  if (cancelled) return { kind: "end", problem: INTERRUPTED };
  if (last?.problem != null && results.filter(isBrokenOff).length >= MOST_BROKEN_OFF) {
    return { kind: "end", problem: last.problem };
  }
  return { kind: "again", afterMs: last !== undefined && isBrokenOff(last) ? BUSY_MS : HANDED_ON_MS };
};

/** Decision on a sync whose run threw. */
export const stepAfterError = (error: unknown, cancelled: boolean): NextStep => {
  if (isCode(error, "INTERRUPTED"))
    return cancelled ? { kind: "end", problem: INTERRUPTED } : { kind: "again", afterMs: HANDED_ON_MS };
  if (isCode(error, "DURATION_SPENT")) return { kind: "end", problem: LATE };
  // A password that was changed refuses new connections, until the worker is started with the new one.
  const passes = (["WRITER_BUSY", "REDIS_UNAVAILABLE", "REDIS_REFUSED"] as const).some((code) => isCode(error, code));
  if (passes && cancelled) return { kind: "end", problem: INTERRUPTED };
  return passes ? { kind: "again", afterMs: BUSY_MS } : { kind: "end", problem: problemOf(error) };
};
