// A resumed reading of a list whose next page is refused: the list may have become shorter than the cursor, and a
// service may refuse pages behind its end. Its changes are read, or, without their order, a walk begins at the head, once
// in a run. If the first page shows that the list still reaches that far, the service refuses the page itself: the list
// fails and its cursor stays, so that its pages are not paid for again. Else it is walked (decision 0163).
import type { DuckmirrorError } from "../../core/errors.ts";
import type { PageRead, ReadRequest } from "../strategies/contract.ts";
import { startOf } from "../strategies/page-geometry.ts";
import { turnIntoChangesBeforeEnd, turnIntoWalk } from "../task/change-course.ts";
import { isExcerpt, type ScopeTask } from "../task/scope-task.ts";
import { type SyncRun, shapeOf } from "./state/run-state.ts";
import { failTask } from "./state/task-ends.ts";
import { advance } from "./task-steps.ts";

/** Pages that a resumed task counts before it has received one. */
const PAGES_AT_RESUME = 2;

/** True when the page is asked for by a cursor of an earlier run, and none was received since. */
const isCursors = (task: ScopeTask, request: ReadRequest): boolean => {
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

/** Begins the walk anew after a refusal of its cursor's page. False: it is no such page. */
export const beginAnew = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest,
  error: DuckmirrorError,
): Promise<boolean> => {
  if (!isCursors(task, request)) return false;
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

/** After a page of such a reading. True: the list still reaches to the refused page, and has failed. */
export const reachesAsFar = async (run: SyncRun, task: ScopeTask, { total }: PageRead): Promise<boolean> => {
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
