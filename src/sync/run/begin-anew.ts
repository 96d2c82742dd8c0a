// A walk whose next page the service refuses. If it returns no page behind some row, the rest is read from the other end
// (decision 0189). A resumed list may have become shorter than its cursor: to find out, the run reads its changes, or walks it
// from the head if the list has no order by change date; once in a run. If the list still has the refused page, the rest is
// read from the other end, or it fails and keeps its cursor, so that its pages are not paid for again. If not, it is
// walked from the head (decision 0163).
import type { DuckmirrorError } from "../../core/errors.ts";
import type { PageRead, ReadRequest } from "../strategies/contract.ts";
import { startOf } from "../strategies/page-geometry.ts";
import { canTurnRound, turnIntoChangesBeforeEnd, turnIntoWalk, walkSoFar } from "../task/change-course.ts";
import { isExcerpt, type ScopeTask } from "../task/scope-task.ts";
import { readOtherEnd } from "./state/other-end.ts";
import { type SyncRun, shapeOf } from "./state/run-state.ts";
import { failTask } from "./state/task-ends.ts";
import { advance } from "./task-steps.ts";

/** `pages` of a resumed task that has not received a page yet. */
const PAGES_AT_RESUME = 2;

/** True when the cursor of an earlier run asks for the page, and this run has received no page yet. */
const isResumedPage = (task: ScopeTask, request: ReadRequest): boolean => {
  const { progress, before, walkId, pages } = task;
  return (
    progress !== null &&
    progress.kind !== "log" &&
    !isExcerpt(task) &&
    before?.status === "walking" &&
    before.walkId === walkId &&
    pages === PAGES_AT_RESUME &&
    request.page > 1
  );
};

/** Reads on in another way after a page was refused. False: there is none. */
export const beginAnew = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest,
  error: DuckmirrorError,
): Promise<boolean> => {
  const { name } = task.stream;
  const shape = task.shapeAtRefusal ?? shapeOf(run, name);
  const isResumed = isResumedPage(task, request);
  const row = Math.min(task.refused?.row ?? startOf(request), startOf(request));
  if (request.page > 1 && !isResumed) task.refused = { row, error };
  const turn = request.page === 1 ? "never" : canTurnRound(task, task, shape);
  if (!isResumed && turn === "never") return false;
  // The forms that were tried in between say nothing about the list.
  if (turn === "later") run.shapes.set(name, shape);
  // Another page may be answered; else the last refusal decides.
  if (task.inFlight.length > task.ready.length) return true;
  if (!isResumed && turn === "later") {
    await advance(run, task);
    return true;
  }
  run.shapes.set(name, shape);
  task.ready = [];
  task.inFlight = [];
  const walk = walkSoFar(task);
  if (!isResumed) readOtherEnd(run, task, walk);
  else if (task.stream.watermark !== undefined && shape.changeOrder) {
    turnIntoChangesBeforeEnd(task, shape, run.runId);
    run.stats.of(name).modes.add("watermark");
  } else turnIntoWalk(task, shape, run.runId, run.deps.clock.now());
  if (isResumed) task.leftOff = { row: startOf(request), error, walk };
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
  if (reaches && readOtherEnd(run, task, leftOff.walk)) {
    await advance(run, task);
    return true;
  }
  if (reaches) await failTask(run, task, leftOff.error, { resumable: true });
  task.leftOff = null;
  if (!reaches && progress?.kind === "watermark") {
    turnIntoWalk(task, shapeOf(run, task.stream.name), run.runId, run.deps.clock.now());
  }
  return reaches;
};
