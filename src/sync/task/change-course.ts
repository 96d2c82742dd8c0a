// A task that changes its course while it runs: another strategy, or another shape of its list.

import type { ReadRequest } from "../list/coverage/contract.ts";
import type { Coverage } from "../list/coverage/coverage.ts";
import { spanAt, startOf } from "../list/coverage/page-geometry.ts";
import { type ListShape, proofOf } from "../list/form.ts";
import { readHeadAgain, startWatermark } from "../list/ways/changes.ts";
import { startFilter } from "../list/ways/filter.ts";
import { coverageOf, inPagesOf, withPageSize } from "../list/ways/progress.ts";
import { fromOtherEnd, hasOtherEnd, startWalk } from "../list/ways/walk.ts";
import { overlapMs, overlaps, startProgress } from "./first-progress.ts";
import { type ScopeTask, uncountable, type WalkSoFar } from "./scope-task.ts";

/** Turns the task into a walk of the whole list, when the shorter read did not suffice. */
export const turnIntoWalk = (task: ScopeTask, shape: ListShape, runId: string, now: number): void => {
  task.walkId = `${runId}/${task.candidate.stream}/${task.candidate.scope}/walk`;
  task.startedAt = now;
  task.progress = startWalk({
    size: shape.perPage,
    overlap: overlaps(task.candidate, task.rows),
    proof: proofOf(task.stream, shape),
  });
  task.refused = null;
  task.pages = 0;
  task.onlyPage = new Set();
  task.rejected = 0;
  task.misfits = 0;
  task.forgotten = new Set();
  task.content = task.wantedContent;
  task.firstMirror = task.rows === 0;
};

/** After a walk of the rows that a wider scope adds: reads every change since the list was complete for the narrower one. */
export const turnIntoChanges = (task: ScopeTask, shape: ListShape): void => {
  const since = (task.before?.watermark ?? 0) - overlapMs(task.stream);
  task.progress = startWatermark({ size: shape.perPage, since, thorough: true });
  // Rows of the walk count as seen, so no page alone is all that was.
  task.pages = Math.max(2, task.pages);
  task.onlyPage = new Set();
  task.last = null;
};

/**
 * Reads the changes of a list whose walk cannot go on: since its last complete walk or such a reading, else since the walk
 * began.
 */
export const turnIntoChangesBeforeEnd = (task: ScopeTask, shape: ListShape, runId: string): void => {
  task.walkId = `${runId}/${task.candidate.stream}/${task.candidate.scope}/changes`;
  const since = (task.before?.watermark ?? task.startedAt) - overlapMs(task.stream);
  task.progress = startWatermark({ size: shape.perPage, since });
  task.pages = 0;
  task.onlyPage = new Set();
  task.newest = null;
  task.firstNewest = null;
};

/** What the task has read of its list. */
export const walkSoFar = ({
  progress,
  walkId,
  startedAt,
  newest,
  firstNewest,
  firstMirror,
  ...task
}: ScopeTask): WalkSoFar => {
  const { pages, onlyPage, rejected, misfits, forgotten, content } = task;
  return {
    ...{ progress, walkId, startedAt, newest, firstNewest, firstMirror },
    ...{ pages, onlyPage, rejected, misfits, forgotten, content },
  };
};

/** Whether the rest of the walk can be read in ascending order. */
export const canTurnRound = (
  { stream, candidate }: Pick<ScopeTask, "stream" | "candidate">,
  { progress }: Pick<WalkSoFar, "progress">,
  { sort }: Pick<ListShape, "sort">,
): boolean => {
  const isSorted = stream.walkOrder !== undefined && sort && candidate.widens === undefined;
  return isSorted && progress?.kind === "walk" && hasOtherEnd(progress);
};

/** Reads the rest of the walk from the other end, in pages of the size that the service returned. */
export const turnRound = (task: ScopeTask, walk: WalkSoFar, { perPage }: ListShape): void => {
  Object.assign(task, walk);
  task.leftOff = null;
  task.refused = null;
  const progress = walk.progress === null ? null : inPagesOf(walk.progress, perPage);
  if (progress?.kind === "walk") task.progress = fromOtherEnd(progress);
};

/** The page of full size that holds the first row not read yet: services count their limit in such pages. None is refused twice. */
const lastBefore = ({ end, size }: Coverage, refusedRow: number): readonly ReadRequest[] => {
  const read: ReadRequest = { ...spanAt(end, size, true), role: "cover" };
  return startOf(read) < Math.min(end, refusedRow) ? [read] : [];
};

/** The requested reads, without those that begin where a page was refused. */
export const withoutRefused = (task: ScopeTask, reads: readonly ReadRequest[]): readonly ReadRequest[] => {
  const { refused, progress } = task;
  if (refused === null || progress?.kind !== "walk") return reads;
  const left = reads.filter((read) => startOf(read) < refused.row);
  task.inFlight = task.inFlight.filter((read) => left.includes(read) || !reads.includes(read));
  if (task.inFlight.length > 0) return left;
  const last = lastBefore(progress.coverage, refused.row);
  task.inFlight = last;
  return last;
};

/** Continues a reading of changes by the filter of the list, which needs no order. */
export const turnIntoFilter = (task: ScopeTask, shape: ListShape): void => {
  if (task.progress?.kind !== "watermark") return;
  task.progress = startFilter({ size: shape.perPage, since: task.progress.since });
  task.pages = 0;
  task.onlyPage = new Set();
};

/** Reads what changed since a resumed reading of changes began. */
export const readChangesAgain = (task: ScopeTask): void => {
  if (task.progress?.kind !== "watermark") return;
  task.progress = readHeadAgain(task.progress, task.startedAt - overlapMs(task.stream));
  task.pages = 0;
  task.onlyPage = new Set();
};

/** After a walk that did not add up: reads the changes since its start, and the present count of the list. */
export const readChangesAfterWalk = (task: ScopeTask, shape: ListShape): void => {
  task.closing = uncountable(task);
  task.progress = startWatermark({ size: shape.perPage, since: task.startedAt - overlapMs(task.stream) });
};

/** Applies a new shape of the list, from the head if nothing was read yet. */
export const reshape = (task: ScopeTask, shape: ListShape): void => {
  if (task.progress === null) return;
  const coverage = coverageOf(task.progress);
  const orderGone = task.progress.kind === "watermark" && !shape.changeOrder;
  const filterGone = task.progress.kind === "filter" && !task.progress.only && !shape.changeFilter;
  const isFilterable = task.stream.filter !== undefined && shape.changeFilter;
  const mode = filterGone || (orderGone && !isFilterable) ? "walk" : orderGone ? "filter" : task.progress.kind;
  // The first page may be loaded already, if it is asked for again by name.
  const heldBefore = task.firstMirror ? 0 : task.rows;
  const untouched =
    coverage === null ? task.progress.kind === "log" && task.progress.newestOn === null : coverage.end === 0;
  task.progress = untouched
    ? startProgress({ ...task.candidate, mode }, task.stream, shape, task.before, overlaps(task.candidate, heldBefore))
    : withPageSize(task.progress, shape.perPage);
};
