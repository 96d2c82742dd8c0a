// A resumed reading of a list whose next page is refused: the list may have become shorter than the cursor, and a
// service may refuse pages behind its end. It becomes a walk from the head, once in a run. If its first page shows that
// the list still reaches that far, the service refuses the page itself: the list fails and its cursor stays, so that
// its pages are not paid for again.
import type { DuckmirrorError } from "../../core/errors.ts";
import type { PageRead, ReadRequest } from "../strategies/contract.ts";
import { startOf } from "../strategies/page-geometry.ts";
import { turnIntoWalk } from "../task/change-course.ts";
import { isExcerpt, type ScopeTask } from "../task/scope-task.ts";
import { type SyncRun, shapeOf } from "./state/run-state.ts";
import { commitState, failTask } from "./state/task-ends.ts";
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
  turnIntoWalk(task, shapeOf(run, name), run.runId, run.deps.clock.now());
  task.leftOff = { row: startOf(request), error };
  await advance(run, task);
  return true;
};

/** After the first page of such a walk. True: the list still reaches to the refused page, and has failed. */
export const reachesAsFar = async (run: SyncRun, task: ScopeTask, { total }: PageRead): Promise<boolean> => {
  const { leftOff, before } = task;
  if (leftOff === null) return false;
  task.leftOff = null;
  if (total === null || total <= leftOff.row || before === undefined) return false;
  await failTask(run, task, leftOff.error, { resumable: true });
  await commitState(run, { ...before, error: leftOff.error.code });
  return true;
};
