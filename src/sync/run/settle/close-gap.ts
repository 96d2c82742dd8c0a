// Closes the gap after a walk that did not add up. It requests rows that are probably gone by id, which costs nothing
// if they are, and deletes those that return 404. Then it reads the list's changes once more: if the counts agree,
// the mirror is complete although no walk added up. docs/decisions/0081-closing-a-gap.md.
//
//   walk ended ─▶ suspects asked by id ─▶ agrees ─▶ complete
//                        │                  ▲
//                        ├─ differs ─▶ changes read ─▶ differs ─▶ unconfirmed
//                        └─ unmet rows left, or the 404s are not to be trusted ─▶ unconfirmed
import { counted } from "../../../core/text/units.ts";
import type { Unconfirmed } from "../../../warehouse/record/checkpoint.ts";
import { readChangesAfterWalk } from "../../task/change-course.ts";
import { finishedState, totalOf } from "../../task/scope-state.ts";
import type { ScopeTask } from "../../task/scope-task.ts";
import { unconfirmedIn } from "../state/completeness.ts";
import { isFiltered, type SyncRun, shapeOf } from "../state/run-state.ts";
import { closeTask, commitState } from "../state/task-ends.ts";
import { missingOf } from "./apply-deletes.ts";
import { isAskable } from "./ask-by-id.ts";
import { countedBy, isProven, settleSuspects } from "./suspects.ts";

/** Rows that neither the walk nor the later requests confirmed; null: all are confirmed. */
const openIn = async (run: SyncRun, task: ScopeTask): Promise<Unconfirmed | null> => {
  const unmet = task.firstMirror ? 0 : (await missingOf(run, task)).missing;
  const open = unconfirmedIn({ rows: task.rows, unmet, counted: countedBy(task) });
  if (open !== null || isProven(task)) return open;
  const because =
    totalOf(task) === null
      ? "the service does not count its rows, and nothing proves that these are all"
      : "rows changed places while the list was read";
  return { rows: 0, because };
};

const end = async (run: SyncRun, task: ScopeTask, unconfirmed: Unconfirmed | null) => {
  const { name } = task.stream;
  if (unconfirmed !== null) {
    const text = `${name}: ${counted(unconfirmed.rows, "row")} unconfirmed: ${unconfirmed.because}`;
    run.deps.emit({ kind: "note", level: "warn", text });
  }
  const now = run.deps.clock.now();
  const addsUp = unconfirmed === null;
  const state = finishedState(task, { whole: true, addsUp, unconfirmed, now, runId: run.runId });
  // Keep the walk's keys: a row that the next walk does not return either is requested by id.
  await commitState(run, addsUp ? state : { ...state, walkId: task.walkId });
  closeTask(run, task);
};

/**
 * True when the list changed during the walk and its changes can be read: they show new rows and the present count.
 * While the list is unchanged, its count would be the same again.
 */
const canLook = (run: SyncRun, task: ScopeTask): boolean =>
  isAskable(task.stream.name) &&
  task.stream.watermark !== undefined &&
  shapeOf(run, task.stream.name).changeOrder &&
  task.progress?.kind === "walk" &&
  task.progress.coverage.moved &&
  isProven(task) &&
  !run.deps.signal.aborted;

/** Ends a walk of the whole list that does not add up. Returns whether the task continues by reading the changes. */
export const closeGap = async (run: SyncRun, task: ScopeTask): Promise<"ended" | "goes on"> => {
  const { name } = task.stream;
  let kept: string | null = null;
  // A first walk returned exactly the mirrored rows.
  // Rows that a filtered walk did not return may exist outside the scope, where asking costs a credit each.
  if (isAskable(name) && !task.firstMirror && !isFiltered(run, name)) kept = await settleSuspects(run, task, name);
  const open = await openIn(run, task);
  const onlyCount = open !== null && (task.firstMirror || (await missingOf(run, task)).missing === 0);
  if (onlyCount && canLook(run, task)) {
    readChangesAfterWalk(task, shapeOf(run, name));
    return "goes on";
  }
  await end(run, task, open === null || kept === null ? open : { ...open, because: `${open.because}; ${kept}` });
  return "ended";
};

/** Ends the reading of changes after such a walk; `agrees`: the counts agree. */
export const endLook = async (run: SyncRun, task: ScopeTask, agrees: boolean): Promise<void> => {
  const open = agrees ? null : await openIn(run, task);
  await end(run, task, agrees ? null : (open ?? { rows: 0, because: "the list moved while its changes were read" }));
};
