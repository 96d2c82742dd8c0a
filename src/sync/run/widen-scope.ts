// A list whose scope gained values of one filter: reads what is missing instead of the whole list
// (docs/decisions/0112-row-scope.md).
//
//   walk of the added values ─ adds up ─▶ every change of the wider list since it was complete ─ counts agree ─▶ complete
//              │                                             │
//              └──────────── any doubt ──────────────────────┴─▶ walk of the wider list
//
// A row inside was mirrored before, is in the walk, or changed since. So the mirror holds every row inside, and equal
// counts prove that it holds no other.
import { isScopedTable, type ScopedTable } from "../../catalog/tables.ts";
import type { Step } from "../list/coverage/contract.ts";
import { coverageOf } from "../list/ways/progress.ts";
import { rememberScope } from "../plan/remembered.ts";
import { turnIntoChanges } from "../task/change-course.ts";
import { unreadState, walkingState } from "../task/scope-state.ts";
import { type ScopeTask, uncountable } from "../task/scope-task.ts";
import { isFiltered, type SyncRun, shapeOf } from "./state/run-state.ts";
import { beginScope } from "./state/scope-marks.ts";
import { commitState } from "./state/task-ends.ts";

const wideningTable = ({ candidate, stream: { name } }: ScopeTask): ScopedTable | null =>
  candidate.widens !== undefined && isScopedTable(name) ? name : null;

/** True after the walk of the added values. */
export const readsWiderChanges = (task: ScopeTask): boolean =>
  wideningTable(task) !== null && task.progress?.kind === "watermark";

/** Why what is missing cannot be read alone; null: it can, or the whole list is read anyway. */
export const doubtIn = (run: SyncRun, task: ScopeTask): string | null => {
  const table = wideningTable(task);
  if (table === null || task.progress === null) return null;
  const coverage = coverageOf(task.progress);
  if (!isFiltered(run, table)) return "the service does not apply the filters of its wider scope";
  if (!shapeOf(run, table).changeOrder) return `the service does not sort by ${task.stream.watermark}`;
  return coverage !== null && coverage.end > 0 && coverage.total === null
    ? "the service does not count its rows"
    : null;
};

/** What follows the end of a part: the changes, the walk of the whole list and why, or (null) the end of the task. */
export const afterPart = async (
  run: SyncRun,
  task: ScopeTask,
  step: Extract<Step, { kind: "done" }>,
): Promise<"changes" | { readonly walk: string } | null> => {
  if (wideningTable(task) === null) return null;
  if (uncountable(task) > 0) return { walk: "the mirror cannot hold all of its records" };
  if (readsWiderChanges(task)) return null;
  if (!step.addsUp) return { walk: step.because };
  turnIntoChanges(task, shapeOf(run, task.stream.name));
  // Pages of the changes must not be taken for pages of the walk when a killed run is recovered.
  await commitState(run, walkingState(task, run.runId));
  return "changes";
};

/** The list is complete for the wider scope. After its state: a crash in between reads the same once more. */
export const endWidening = async (run: SyncRun, task: ScopeTask): Promise<void> => {
  const table = wideningTable(task);
  if (table === null) return;
  await rememberScope(run.deps.warehouse, run.options.rowScope, table, run.deps.clock.now());
  run.widening.delete(table);
};

/** The list will be walked whole: nothing of the narrower scope counts any more, whatever happens to this run. */
export const giveUpWidening = async (run: SyncRun, task: ScopeTask): Promise<void> => {
  const table = wideningTable(task);
  if (table === null) return;
  const { runId, options, deps } = run;
  await beginScope({ warehouse: deps.warehouse, rowScope: options.rowScope, runId, now: deps.clock.now() }, table);
  run.widening.delete(table);
  const { widens: _, ...candidate } = task.candidate;
  task.candidate = candidate;
  task.before = unreadState(table, "", runId);
};
