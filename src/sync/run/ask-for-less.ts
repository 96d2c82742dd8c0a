// After a page failed for good: the same rows in smaller pages. At once while no page of the list was ever answered in
// this size. Where one was, only if the list failed in the last sync, too: an outage must not make pages small.

import type { ReadRequest } from "../list/coverage/contract.ts";
import { isActive, liveOf } from "../list/state.ts";
import { SIZE_FAILURE_CODES, type SizeFailure, sizeBelow, withSmallerPages } from "../request/smaller-pages.ts";
import { useShape } from "./ask-differently.ts";
import { goOn } from "./read-list.ts";
import type { OpenList } from "./state/open-list.ts";
import { type SyncRun, shapeOf } from "./state/run-state.ts";

const hasFailedBefore = ({ state }: OpenList): boolean => SIZE_FAILURE_CODES.has(liveOf(state).before?.error ?? "");

/** Attempts at a page of a size that nothing has shown to be the right one: more of them would only delay the next size. */
const ATTEMPTS_A_SIZE = 3;

/** Limit of attempts while smaller pages are tried; empty: the retry policy decides. */
export const attemptsWhileSmaller = (run: SyncRun, { stream }: OpenList): { readonly maxAttempts?: number } => {
  const isTrying = run.beforeSmaller.get(stream.name) != null && !shapeOf(run, stream.name).settled;
  return isTrying ? { maxAttempts: ATTEMPTS_A_SIZE } : {};
};

/** Asks for one list of many in smaller pages: the others may be answered in the size of the stream. */
const lessOfOne = async (run: SyncRun, list: OpenList, size: number | null): Promise<boolean> => {
  if (!hasFailedBefore(list)) return false;
  if (size === null) {
    list.tell({ kind: "pages-of", size: shapeOf(run, list.stream.name).perPage, exactly: true });
    return false;
  }
  list.tell({ kind: "pages-of", size, exactly: false });
  await goOn(run, list);
  return true;
};

/** Asks for smaller pages. False: their size is not the reason, or every size has failed. */
export const askForLess = async (
  run: SyncRun,
  list: OpenList,
  request: ReadRequest,
  failure: SizeFailure,
): Promise<boolean> => {
  const { name, scope } = list.stream;
  const shape = shapeOf(run, name);
  const before = run.beforeSmaller.get(name);
  if (!isActive(list.state) || before === null) return false;
  // One company of many may have such a body for ever, and each try is paid.
  if (failure === "paid" && scope === "company") return false;
  const size = sizeBelow(request.perPage, failure);
  if (shape.settled && scope === "company") return lessOfOne(run, list, size);
  if (before !== undefined && request.perPage > shape.perPage) {
    // Another page of this size has failed already, or was sent before that was known.
    await goOn(run, list);
    return true;
  }
  if (shape.settled && (before !== undefined || !hasFailedBefore(list))) return false;
  if (size === null) {
    const first = before ?? shape;
    run.beforeSmaller.set(name, null);
    list.tell({ kind: "pages-of", size: first.perPage, exactly: true });
    await useShape(run, list, first);
    return false;
  }
  run.beforeSmaller.set(name, before ?? shape);
  const text = `${name}: pages of ${request.perPage} rows fail, pages of ${size} are asked for`;
  run.deps.emit({ kind: "note", level: "info", text });
  await useShape(run, list, withSmallerPages(shape, size, run.deps.clock.now()));
  return true;
};
