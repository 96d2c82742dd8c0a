// Turns a walk round: the service returns no page behind a certain row, so the rest is read from the other end.
import { DuckmirrorError } from "../../../core/errors.ts";
import { withoutOtherEnd } from "../../strategies/walk.ts";
import { canTurnRound, turnRound } from "../../task/change-course.ts";
import type { ScopeTask, WalkSoFar } from "../../task/scope-task.ts";
import { type SyncRun, shapeOf } from "./run-state.ts";
import { failTask } from "./task-ends.ts";

/** Goes on with the walk from the other end. False: the list cannot be read from there. */
export const readOtherEnd = (run: SyncRun, task: ScopeTask, walk: WalkSoFar): boolean => {
  const { name } = task.stream;
  const shape = shapeOf(run, name);
  if (canTurnRound(task, walk, shape) !== "now") return false;
  turnRound(task, walk, shape);
  run.stats.of(name).modes.add("walk");
  const text = `${name}: the service returns no page behind a certain row; the rest is read from the other end`;
  run.deps.emit({ kind: "note", level: "info", text });
  return true;
};

/** The service does not return the list in ascending order: the list fails, and is not read from that end again. */
export const failsAtOtherEnd = async (run: SyncRun, task: ScopeTask): Promise<boolean> => {
  const { stream, progress } = task;
  const fromHead = progress?.kind === "walk" ? withoutOtherEnd(progress) : null;
  if (fromHead === null) return false;
  task.progress = fromHead;
  const detail = `the service returns the first ${fromHead.coverage.end} rows of the list only, in no other order`;
  await failTask(run, task, new DuckmirrorError("REQUEST_FAILED", { endpoint: stream.path, detail }), {
    resumable: true,
  });
  return true;
};
