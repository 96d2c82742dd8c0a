// Deletes beside many changes. A reading of changes that came to the end of its list has returned every row, as after a change of
// all scores. Where the service counts fewer rows than the mirror holds, the rows that it did not return are asked for by
// id: that is free if they are gone, and a walk of the same list would cost a credit a page.
import { acceptedGap } from "../../rows/accepted-gap.ts";
import { totalOf } from "../../task/scope-state.ts";
import type { ScopeTask } from "../../task/scope-task.ts";
import { isFiltered, type SyncRun } from "../state/run-state.ts";
import { missingOf } from "./apply-deletes.ts";
import { isAskable } from "./ask-by-id.ts";
import { MOST_ASKED, settleSuspects } from "./suspects.ts";

/** Rows that may turn out to be there, for a credit each: they changed, and so moved, while the list was read. */
const MOST_MOVED = 2;

/** Whether this reading, and no earlier run's, returned the list from its first page to its last. */
const cameToTheEnd = ({ progress, firstMirror, candidate, leftOff }: ScopeTask): boolean => {
  if (progress?.kind !== "watermark" || firstMirror || candidate.widens !== undefined || leftOff !== null) return false;
  const { coverage, sorted, resumed, thorough } = progress;
  return coverage.complete && coverage.proven && sorted && !resumed && !thorough;
};

/** Rows that the mirror holds beyond the service's count. */
const surplusOf = (task: ScopeTask): number => {
  const total = totalOf(task);
  return total === null ? 0 : task.rows - (total - (acceptedGap(task.before) ?? 0));
};

/** Deletes the rows that are gone. Returns whether the counts agree now, so that no walk is needed. */
export const settleAfterChanges = async (run: SyncRun, task: ScopeTask): Promise<boolean> => {
  const { name } = task.stream;
  const surplus = surplusOf(task);
  if (!cameToTheEnd(task) || !isAskable(name) || isFiltered(run, name)) return false;
  if (surplus <= 0 || surplus > MOST_ASKED) return false;
  const { missing } = await missingOf(run, task);
  if (missing < surplus || missing > surplus + MOST_MOVED) return false;
  await settleSuspects(run, task, name);
  return surplusOf(task) === 0;
};
