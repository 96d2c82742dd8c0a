// Reports a stream's progress in numbers after every response.

import { pageSizeOf } from "../../list/ways/page-size.ts";
import { totalOf } from "../../task/scope-state.ts";
import type { ScopeTask } from "../../task/scope-task.ts";
import type { SyncRun } from "./run-state.ts";

/** Expected pages of a stream: from the list's length if it has one list, else from the number of due lists. */
export const pagesTotal = (
  task: ScopeTask,
  stats: { readonly planned: number; readonly pages: number },
): number | null => {
  if (task.stream.scope !== "organization") return Math.max(stats.planned, stats.pages);
  const total = totalOf(task);
  if (task.progress?.kind !== "walk" || total === null) return null;
  return Math.max(stats.pages, Math.ceil(total / pageSizeOf(task.progress)));
};

export const emitPage = (run: SyncRun, task: ScopeTask): void => {
  const { stream } = task.candidate;
  const stats = run.stats.of(stream);
  const { requests, credits, rows, pages } = stats;
  run.deps.emit({
    kind: "page",
    stream,
    requests,
    credits,
    rows,
    pagesDone: pages,
    pagesTotal: pagesTotal(task, stats),
    rowsTotal: task.stream.scope === "organization" ? totalOf(task) : null,
  });
};
