// A resumed walk whose next page the service refuses. Either the list has become shorter than the cursor, or the service
// refuses this page for another reason. To find out, the run reads the list's changes, or walks it from the head if the
// list has no order by change date; once in a run. If the list still has the refused page, it fails and keeps its cursor,
// so that its pages are not paid for again. If not, it is walked from the head (decision 0163).
import type { DuckmirrorError } from "../../core/errors.ts";
import type { PageRead, ReadRequest } from "../strategies/contract.ts";
import { startOf } from "../strategies/page-geometry.ts";
import { turnIntoChangesBeforeEnd, turnIntoWalk } from "../task/change-course.ts";
import { isExcerpt, type ScopeTask } from "../task/scope-task.ts";
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

/** After the refusal of a resumed page: reads the changes, or walks from the head. False: the request is for another page. */
export const beginAnew = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest,
  error: DuckmirrorError,
): Promise<boolean> => {
  if (!isResumedPage(task, request)) return false;
  // Another page may be answered; else the last refusal decides.
  if (task.inFlight.length > task.ready.length) return true;
  const { name } = task.stream;
  // The forms that were tried in between say nothing about the list.
  if (task.shapeAtRefusal !== null) run.shapes.set(name, task.shapeAtRefusal);
  task.ready = [];
  task.inFlight = [];
  const shape = shapeOf(run, name);
  if (task.stream.watermark !== undefined && shape.changeOrder) {
    turnIntoChangesBeforeEnd(task, shape, run.runId);
    run.stats.of(name).modes.add("watermark");
  } else turnIntoWalk(task, shape, run.runId, run.deps.clock.now());
  task.leftOff = { row: startOf(request), error };
  await advance(run, task);
  return true;
};

/** Call it after each page that is read since. True: the list still has the refused page, so it has failed now. */
export const failIfPageExists = async (run: SyncRun, task: ScopeTask, { total }: PageRead): Promise<boolean> => {
  const { leftOff, progress } = task;
  // A filtered list counts something else.
  if (leftOff === null || progress?.kind === "filter") return false;
  const reaches = total !== null && total > leftOff.row;
  // It fails once its changes are read.
  if (reaches && progress?.kind === "watermark") return false;
  if (reaches) await failTask(run, task, leftOff.error, { resumable: true });
  task.leftOff = null;
  if (!reaches && progress?.kind === "watermark") {
    turnIntoWalk(task, shapeOf(run, task.stream.name), run.runId, run.deps.clock.now());
  }
  return reaches;
};
