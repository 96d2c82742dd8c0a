// After a page failed for good: the same rows in smaller pages. At once while no page of the list was ever answered in
// this size. Where one was, only if the list failed in the last sync, too: an outage must not make pages small.

import type { ReadRequest } from "../list/coverage/contract.ts";
import { inPagesOf, withPageSize } from "../list/ways/progress.ts";
import { SIZE_FAILURE_CODES, type SizeFailure, sizeBelow, withSmallerPages } from "../request/smaller-pages.ts";
import type { ScopeTask } from "../task/scope-task.ts";
import { useShape } from "./ask-differently.ts";
import { type SyncRun, shapeOf } from "./state/run-state.ts";
import { advance } from "./task-steps.ts";

const hasFailedBefore = ({ before }: ScopeTask): boolean => SIZE_FAILURE_CODES.has(before?.error ?? "");

/** Attempts at a page of a size that nothing has shown to be the right one: more of them would only delay the next size. */
const ATTEMPTS_A_SIZE = 3;

/** Limit of attempts while smaller pages are tried; empty: the retry policy decides. */
export const attemptsWhileSmaller = (run: SyncRun, { stream }: ScopeTask): { readonly maxAttempts?: number } => {
  const isTrying = run.beforeSmaller.get(stream.name) != null && !shapeOf(run, stream.name).settled;
  return isTrying ? { maxAttempts: ATTEMPTS_A_SIZE } : {};
};

/** Asks for one list of many in smaller pages: the others may be answered in the size of the stream. */
const lessOfOne = async (run: SyncRun, task: ScopeTask, size: number | null): Promise<boolean> => {
  if (task.progress === null || !hasFailedBefore(task)) return false;
  if (size === null) {
    task.progress = inPagesOf(task.progress, shapeOf(run, task.stream.name).perPage);
    return false;
  }
  task.progress = withPageSize(task.progress, size);
  await advance(run, task);
  return true;
};

/** Asks for smaller pages. False: their size is not the reason, or every size has failed. */
export const askForLess = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest,
  failure: SizeFailure,
): Promise<boolean> => {
  const { name, scope } = task.stream;
  const shape = shapeOf(run, name);
  const before = run.beforeSmaller.get(name);
  if (task.progress === null || task.status !== "active" || before === null) return false;
  // One company of many may have such a body for ever, and each try is paid.
  if (failure === "paid" && scope === "company") return false;
  const size = sizeBelow(request.perPage, failure);
  if (shape.settled && scope === "company") return lessOfOne(run, task, size);
  if (before !== undefined && request.perPage > shape.perPage) {
    // Another page of this size has failed already, or was sent before that was known.
    await advance(run, task);
    return true;
  }
  if (shape.settled && (before !== undefined || !hasFailedBefore(task))) return false;
  if (size === null) {
    const first = before ?? shape;
    run.beforeSmaller.set(name, null);
    task.progress = inPagesOf(task.progress, first.perPage);
    await useShape(run, task, first);
    return false;
  }
  run.beforeSmaller.set(name, before ?? shape);
  const text = `${name}: pages of ${request.perPage} rows fail, pages of ${size} are asked for`;
  run.deps.emit({ kind: "note", level: "info", text });
  await useShape(run, task, withSmallerPages(shape, size, run.deps.clock.now()));
  return true;
};
