// Turns a walk round: the service returns no page behind a certain row, so the rest is read from the other end.
import { DuckmirrorError } from "../../../core/errors.ts";
import { rowsOfBoth } from "../../list/ways/other-end.ts";
import { withoutOtherEnd } from "../../list/ways/walk.ts";
import { canTurnRound, turnRound } from "../../task/change-course.ts";
import type { ScopeTask } from "../../task/scope-task.ts";
import { type SyncRun, shapeOf } from "./run-state.ts";
import { failTask } from "./task-ends.ts";

/** Goes on with the walk from the other end, if a page was refused. False: the list cannot be read from there. */
export const readOtherEnd = (
  run: SyncRun,
  task: ScopeTask,
  { error, walk }: Pick<NonNullable<ScopeTask["leftOff"]>, "error" | "walk">,
): boolean => {
  const { name } = task.stream;
  const shape = shapeOf(run, name);
  if (error.code !== "LIST_TOO_DEEP" || !canTurnRound(task, walk, shape)) return false;
  turnRound(task, walk, shape);
  run.stats.of(name).modes.add("walk");
  const text = `${name}: the service returns no page behind a certain row; the rest is read from the other end`;
  run.deps.emit({ kind: "note", level: "info", text });
  return true;
};

/** The failure of a walk whose next page was refused: how much of the list the service returns. A company's list has no order. */
export const tooDeep = (
  refusal: DuckmirrorError,
  { stream, progress }: Pick<ScopeTask, "stream" | "progress">,
): DuckmirrorError => {
  if (stream.walkOrder === undefined || progress?.kind !== "walk" || progress.coverage.total === null) return refusal;
  const { endpoint, detail } = refusal.context;
  const { fromHead, coverage } = progress;
  const reached = Math.min(rowsOfBoth(fromHead, coverage), progress.coverage.total);
  return new DuckmirrorError("LIST_TOO_DEEP", { endpoint, detail, reached, total: progress.coverage.total });
};

/** Fails the task of a walk that cannot go on, with the list's present count. */
export const failWalk = async (
  run: SyncRun,
  task: ScopeTask,
  { error, total }: { readonly error: DuckmirrorError; readonly total: number | null },
): Promise<void> => {
  const isDeep = error.code === "LIST_TOO_DEEP" && total !== null;
  const now = isDeep ? new DuckmirrorError("LIST_TOO_DEEP", { ...error.context, total }) : error;
  await failTask(run, task, now, { resumable: true });
};

/** The service does not return the list in ascending order: the list fails, and is not read from that end again. */
export const failsAtOtherEnd = async (run: SyncRun, task: ScopeTask): Promise<boolean> => {
  const { stream, progress } = task;
  if (progress?.kind !== "walk" || progress.fromHead === null || progress.ordered) return false;
  task.progress = withoutOtherEnd(progress);
  const refusal = new DuckmirrorError("REQUEST_FAILED", {
    endpoint: stream.path,
    detail: "the service returns the list in no other order",
  });
  await failTask(run, task, tooDeep(refusal, task), { resumable: true });
  return true;
};
