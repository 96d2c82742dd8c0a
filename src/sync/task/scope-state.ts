// Builds rows of `sync.stream_state`: before a scope is read, during its task, and after it. Pure.
import type { StreamName } from "../../catalog/streams.ts";
import type { ScopeState, Unconfirmed } from "../../warehouse/record/checkpoint.ts";
import { coverageOf } from "../list/ways/progress.ts";
import { acceptedGap } from "../rows/accepted-gap.ts";
import { MOST_AHEAD_MS } from "./first-progress.ts";
import type { ScopeTask } from "./scope-task.ts";
import { cursorText } from "./stored-cursor.ts";

/** Latest `totalCount` of the whole list, for strategies that read the whole list. */
export const totalOf = (task: ScopeTask): number | null => {
  if (task.progress === null || task.progress.kind === "filter") return task.before?.totalCount ?? null;
  return task.progress.kind === "log" ? task.progress.total : (coverageOf(task.progress)?.total ?? null);
};

/** State of a scope that was never read. */
export const unreadState = (stream: StreamName, scope: string, runId: string): ScopeState => ({
  stream,
  scope,
  status: "idle",
  walkId: null,
  cursor: null,
  watermark: null,
  totalCount: null,
  rowsAtWalk: null,
  checkedAt: null,
  walkedAt: null,
  unconfirmed: null,
  error: null,
  runId,
});

/** The row of a task whose walk cannot go on. Once every change up to the newest was read, it is the next watermark. */
const leftOffState = ({ before, progress, newest, startedAt }: ScopeTask): ScopeState | null => {
  if (before === undefined) return null;
  const isRead =
    progress?.kind === "watermark" &&
    progress.sorted &&
    progress.coverage.proven &&
    (progress.reachedKnown || progress.coverage.complete);
  const isLater = isRead && newest !== null && newest > (before.watermark ?? startedAt);
  return isLater ? { ...before, watermark: newest } : before;
};

/** The task's row of `sync.stream_state` while it is running. Of a walk that cannot go on, the cursor stays. */
export const walkingState = (task: ScopeTask, runId: string): ScopeState =>
  (task.leftOff === null ? null : leftOffState(task)) ?? ownState(task, runId);

const ownState = (task: ScopeTask, runId: string): ScopeState => ({
  stream: task.candidate.stream,
  scope: task.candidate.scope,
  status: "walking",
  walkId: task.walkId,
  cursor:
    task.progress === null
      ? null
      : cursorText({
          progress: task.progress,
          startedAt: task.startedAt,
          readAt: task.readAt,
          newest: task.newest,
          firstNewest: task.firstNewest,
          firstMirror: task.firstMirror,
          rejected: task.rejected,
          refused: task.misfits,
          forgotten: [...task.forgotten],
          content: task.content,
        }),
  watermark: task.before?.watermark ?? null,
  totalCount: task.before?.totalCount ?? null,
  rowsAtWalk: task.before?.rowsAtWalk ?? null,
  checkedAt: task.before?.checkedAt ?? null,
  walkedAt: task.before?.walkedAt ?? null,
  unconfirmed: task.before?.unconfirmed ?? null,
  error: null,
  runId,
});

/** Result of a task. */
export interface TaskOutcome {
  /** Every page was read, and every link proven. */
  readonly whole: boolean;
  readonly addsUp: boolean;
  /** For a whole list that does not add up: the rows that could not be confirmed. */
  readonly unconfirmed?: Unconfirmed | null;
  readonly now: number;
  readonly runId: string;
}

/**
 * True when a list whose rows seemed to be gone, so that its walk failed and deleted nothing, is whole again: its last complete
 * walk added up (`rowsAtWalk`), and the service counts as many rows as the mirror holds.
 */
const isBack = (task: ScopeTask): boolean =>
  task.progress?.kind === "watermark" &&
  task.before?.status === "failed" &&
  task.before.rowsAtWalk !== null &&
  totalOf(task) === task.rows;

/** Result to store: a read of changes keeps the result of the last complete walk; a log has none. */
const verdictAfter = (task: ScopeTask, { whole, addsUp, unconfirmed = null }: TaskOutcome): Unconfirmed | null => {
  if (addsUp || isBack(task)) return null;
  return whole && task.progress?.kind !== "log" ? unconfirmed : (task.before?.unconfirmed ?? null);
};

/**
 * Whether a walk of the whole list ended before the service's count. `confirmed`: as far before it as the last walk
 * did, so the service counts records that it does not return. After one walk, these may be rows that it is only about
 * to return.
 */
const earlyEnd = ({ before, progress, rows }: ScopeTask, { whole }: TaskOutcome): "none" | "new" | "confirmed" => {
  const coverage = progress?.kind === "walk" || progress?.kind === "known" ? coverageOf(progress) : null;
  if (!whole || coverage === null || !coverage.endsEarly || coverage.total === null) return "none";
  return before?.unconfirmed != null && coverage.total - rows === acceptedGap(before) ? "confirmed" : "new";
};

/** When the list was last read completely. A list whose reading of changes misses rows is walked again after a new gap. */
const walkedAtOf = ({ before, stream }: ScopeTask, gap: ReturnType<typeof earlyEnd>): number | null =>
  gap === "new" && stream.strategy !== "watermark" ? null : (before?.walkedAt ?? null);

/** The watermark never goes back, unless it is too far ahead: a complete walk has read every change before its own. */
const watermarkOf = (task: ScopeTask, reached: number | null, { addsUp }: TaskOutcome): number | null => {
  const known = task.before?.watermark ?? null;
  if (reached === null || known === null) return reached ?? known;
  const isAhead = known > task.startedAt + MOST_AHEAD_MS;
  return isAhead && addsUp && task.progress?.kind === "walk" ? reached : Math.max(reached, known);
};

/** The task's row of `sync.stream_state` after it is done. */
export const finishedState = (task: ScopeTask, outcome: TaskOutcome): ScopeState => {
  const total = totalOf(task);
  const coverage = task.progress === null ? null : coverageOf(task.progress);
  const early = earlyEnd(task, outcome);
  const walked = outcome.addsUp || (outcome.whole && (coverage?.proven ?? true)) || early === "confirmed";
  // In an unchanged list, a different count is the service's own; in a changing list it means nothing.
  const looked = task.progress?.kind === "watermark";
  const settled = outcome.addsUp || (outcome.whole && !looked && coverage?.moved === false) || early === "confirmed";
  // Changes made during the walk are newer than its start; the watermark must not pass them.
  const bound = Math.max(task.startedAt, task.firstNewest ?? 0);
  const reached = task.newest === null ? null : Math.min(task.newest, bound);
  // An incremental read ends when the counts agree, that is, when the accepted gap has not changed.
  const gap = acceptedGap(task.before);
  const lookedAt = gap === null || total === null ? (task.before?.rowsAtWalk ?? null) : total - gap;
  return {
    ...walkingState(task, outcome.runId),
    status: "idle",
    // The keys of an unconfirmed walk are kept: the next walk requests by id the rows that both missed.
    walkId: outcome.addsUp || outcome.whole || task.before?.status !== "idle" ? null : task.before.walkId,
    cursor: null,
    // The watermark of a single record is its version, even if the service sets it back, so that an older version is
    // not skipped.
    watermark: task.progress === null ? task.newest : watermarkOf(task, reached, outcome),
    totalCount: total,
    rowsAtWalk: settled ? task.rows : walked ? null : lookedAt,
    checkedAt: outcome.now,
    walkedAt: walked ? outcome.now : walkedAtOf(task, early),
    unconfirmed: verdictAfter(task, outcome),
  };
};
