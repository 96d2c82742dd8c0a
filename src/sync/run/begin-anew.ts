// A list whose next page the service refuses. Changes that go deeper than the service returns are found by a walk. Of a walk, the
// rest is read from the other end (decision 0189). A resumed list may have become shorter than its cursor: to find out, the run
// reads its changes, or walks it from the head if the list has no order by change date; once in a run. If the list still has the
// refused page, the rest is read from the other end, or it fails and keeps its cursor, so that its pages are not paid for again.
// If not, it is walked from the head (decision 0163).
import { DuckmirrorError } from "../../core/errors.ts";
import { isoTime } from "../../core/time.ts";
import type { PageRead, ReadRequest } from "../list/coverage/contract.ts";
import { startOf } from "../list/coverage/page-geometry.ts";
import type { ListShape } from "../list/form.ts";
import { rowsOfBoth } from "../list/ways/other-end.ts";
import { inPagesOf, readSoFar } from "../list/ways/progress.ts";
import { withoutOtherEnd } from "../list/ways/walk.ts";
import { turnIntoChangesBeforeEnd, turnIntoWalk, walkSoFar } from "../task/change-course.ts";
import { isExcerpt, type ScopeTask } from "../task/scope-task.ts";
import { failWalk, readOtherEnd, tooDeep } from "./state/other-end.ts";
import { type SyncRun, shapeOf } from "./state/run-state.ts";
import { advance } from "./task-steps.ts";
import { giveUpWidening } from "./widen-scope.ts";

/** `pages` of a resumed task that has not received a page yet. */
const PAGES_AT_RESUME = 2;

/**
 * True when the cursor of an earlier run asks for the page, and this run has received no page yet. Of a list that is known to be
 * too deep, the service may return a few rows more, and its changes are read all the same.
 */
const isResumedPage = (task: ScopeTask, request: ReadRequest): boolean => {
  const { progress, before, walkId, pages } = task;
  return (
    progress !== null &&
    progress.kind !== "log" &&
    !isExcerpt(task) &&
    before?.status === "walking" &&
    before.walkId === walkId &&
    (pages === PAGES_AT_RESUME || before.error === "LIST_TOO_DEEP") &&
    request.page > 1
  );
};

/** True while the task reads changes that a walk shows as well. */
const readsChanges = (task: ScopeTask): boolean =>
  task.closing === null &&
  (task.progress?.kind === "watermark" || (task.progress?.kind === "filter" && !isExcerpt(task)));

/** The list's changes go deeper than the service returns: walks it. */
const walkForChanges = async (run: SyncRun, task: ScopeTask, shape: ListShape, row: number): Promise<void> => {
  const { name } = task.stream;
  await giveUpWidening(run, task);
  const text = `${name}: full walk, the service refuses the page of its changes at row ${row + 1}`;
  run.deps.emit({ kind: "note", level: "info", text });
  run.stats.of(name).modes.add("walk");
  task.leftOff = null;
  turnIntoWalk(task, shape, run.runId, run.deps.clock.now());
};

/** Finds out whether a resumed list still has the page that its cursor asks for. */
const beginAgain = (
  run: SyncRun,
  task: ScopeTask,
  shape: ListShape,
  { row, error }: { readonly row: number; readonly error: DuckmirrorError },
): void => {
  const walk = walkSoFar(task);
  if (task.stream.watermark !== undefined && shape.changeOrder) {
    turnIntoChangesBeforeEnd(task, shape, run.runId);
    run.stats.of(task.stream.name).modes.add("watermark");
  } else turnIntoWalk(task, shape, run.runId, run.deps.clock.now());
  const read = walk.progress?.kind === "walk" && walk.progress.fromHead !== null ? walk.progress : null;
  // From both ends, a list that is shorter by a row than both parts together is returned whole: they share a row.
  const most = read === null ? row : rowsOfBoth(read.fromHead, read.coverage) - 1;
  task.leftOff = { row: most, error, walk };
};

/** True when the changes of a list whose reading cannot go on now can be read instead. */
const showsChanges = (run: SyncRun, { stream, progress }: ScopeTask): boolean =>
  (progress?.kind === "walk" || progress?.kind === "watermark") &&
  stream.watermark !== undefined &&
  shapeOf(run, stream.name).changeOrder;

/** Reads the changes of a list whose walk waits for a page that cannot be used. */
export const leaveWalk = (run: SyncRun, task: ScopeTask): void => {
  const { name: stream } = task.stream;
  const waiting = run.waiting.find((other) => other.stream === stream);
  if (waiting === undefined || task.progress === null || !showsChanges(run, task)) return;
  const context = { stream, count: waiting.places, until: isoTime(waiting.until) };
  const error = new DuckmirrorError("ANSWERS_UNUSABLE", context);
  beginAgain(run, task, shapeOf(run, stream), { row: readSoFar(task.progress).end, error });
};

/** Reads the changes of a resumed walk whose next page failed. False: they cannot be read. */
export const readMeanwhile = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest,
  error: DuckmirrorError,
): Promise<boolean> => {
  const isOut = error.code === "SERVICE_UNREACHABLE" || run.fetcher.isFailing(task.stream.name);
  if (isOut || !isResumedPage(task, request) || !showsChanges(run, task)) return false;
  if (task.status !== "active" || task.inFlight.length > task.ready.length) return false;
  task.ready = [];
  task.inFlight = [];
  beginAgain(run, task, shapeOf(run, task.stream.name), { row: startOf(request), error });
  await advance(run, task);
  return true;
};

/** Reads on in another way after a page was refused. False: there is none. */
export const beginAnew = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest,
  error: DuckmirrorError,
): Promise<boolean> => {
  const { progress } = task;
  const shape = task.shapeAtRefusal ?? shapeOf(run, task.stream.name);
  if (request.page === 1) {
    // The service refuses the other order, which is not tried again.
    if (progress?.kind === "walk") task.progress = withoutOtherEnd(progress);
    return false;
  }
  const isResumed = isResumedPage(task, request);
  const changes = readsChanges(task);
  if (!isResumed && !changes && progress?.kind !== "walk") return false;
  const row = Math.min(task.refused?.row ?? startOf(request), startOf(request));
  if (!isResumed && !changes) task.refused = { row, error };
  // The forms that were tried in between say nothing about the list.
  run.shapes.set(task.stream.name, shape);
  if (progress !== null) task.progress = inPagesOf(progress, shape.perPage);
  // Another page may be answered; else the last refusal decides.
  if (task.inFlight.length > task.ready.length) return true;
  if (changes || isResumed) {
    task.ready = [];
    task.inFlight = [];
  }
  if (changes) await walkForChanges(run, task, shape, row);
  else if (isResumed) beginAgain(run, task, shape, { row: startOf(request), error: tooDeep(error, task) });
  await advance(run, task);
  return true;
};

/** Call it after each page that is read since. True: the list still has the refused page; it goes on elsewhere or has failed. */
export const turnOrFailIfPageExists = async (run: SyncRun, task: ScopeTask, { total }: PageRead): Promise<boolean> => {
  const { leftOff, progress } = task;
  // A filtered list counts something else.
  if (leftOff === null || progress?.kind === "filter") return false;
  const reaches = total !== null && total > leftOff.row;
  // It goes on once its changes are read.
  if (reaches && progress?.kind === "watermark") return false;
  if (reaches && readOtherEnd(run, task, leftOff)) {
    await advance(run, task);
    return true;
  }
  if (reaches) await failWalk(run, task, { error: leftOff.error, total });
  task.leftOff = null;
  if (!reaches && progress?.kind === "watermark") {
    turnIntoWalk(task, shapeOf(run, task.stream.name), run.runId, run.deps.clock.now());
  }
  return reaches;
};
