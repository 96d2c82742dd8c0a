// Deletes beside many changes. A reading of changes that came to the end of its list has returned every row, as after a change of
// all scores. Where the service counts fewer rows than the mirror holds, the rows that it did not return are asked for by
// id: that is free if they are gone, and a walk of the same list would cost a credit a page.

import { type ListState, type Live, liveOf, readingOf } from "../../list/state.ts";
import { totalOf } from "../../list/stored-state.ts";
import { acceptedGap } from "../../rows/accepted-gap.ts";
import type { OpenList } from "../state/open-list.ts";
import { isFiltered, type SyncRun } from "../state/run-state.ts";
import { missingOf } from "./apply-deletes.ts";
import { isAskable } from "./ask-by-id.ts";
import { MOST_ASKED, settleSuspects } from "./suspects.ts";

/** Rows that may turn out to be there, for a credit each: they changed, and so moved, while the list was read. */
const MOST_MOVED = 2;

/** Whether this reading, and no earlier run's, returned the list from its first page to its last. */
const cameToTheEnd = (state: ListState): boolean => {
  const reading = readingOf(state);
  if (reading?.progress.kind !== "watermark" || reading.firstMirror) return false;
  if (state.kind !== "reading" || state.order.widens !== undefined) return false;
  const { coverage, sorted, resumed, thorough } = reading.progress;
  return coverage.complete && coverage.proven && sorted && !resumed && !thorough;
};

/** Rows that the mirror holds beyond the service's count. */
const surplusOf = (list: Live): number => {
  const total = totalOf(list);
  return total === null ? 0 : list.rows - (total - (acceptedGap(list.before) ?? 0));
};

/** Deletes the rows that are gone. Returns whether the counts agree now, so that no walk is needed. */
export const settleAfterChanges = async (run: SyncRun, list: OpenList): Promise<boolean> => {
  const { name } = list.stream;
  const surplus = surplusOf(liveOf(list.state));
  if (!cameToTheEnd(list.state) || !isAskable(name) || isFiltered(run, name)) return false;
  if (surplus <= 0 || surplus > MOST_ASKED) return false;
  const { missing } = await missingOf(run, list);
  if (missing < surplus || missing > surplus + MOST_MOVED) return false;
  await settleSuspects(run, list, name);
  return surplusOf(liveOf(list.state)) === 0;
};
