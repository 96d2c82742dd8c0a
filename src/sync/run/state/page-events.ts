// Reports a stream's progress in numbers after every response.

import { liveOf, progressOf } from "../../list/state.ts";
import { totalOf } from "../../list/stored-state.ts";
import { pageSizeOf } from "../../list/ways/page-size.ts";
import type { OpenList } from "./open-list.ts";
import type { SyncRun } from "./run-state.ts";

/** Expected pages of a stream: from the list's length if it has one list, else from the number of due lists. */
export const pagesTotal = (
  { stream, state }: Pick<OpenList, "stream" | "state">,
  stats: { readonly planned: number; readonly pages: number },
): number | null => {
  if (stream.scope !== "organization") return Math.max(stats.planned, stats.pages);
  const total = totalOf(liveOf(state));
  const progress = progressOf(state);
  if (progress?.kind !== "walk" || total === null) return null;
  return Math.max(stats.pages, Math.ceil(total / pageSizeOf(progress)));
};

export const emitPage = (run: SyncRun, list: OpenList): void => {
  const { stream } = list.candidate;
  const stats = run.stats.of(stream);
  const { requests, credits, rows, pages } = stats;
  run.deps.emit({
    kind: "page",
    stream,
    requests,
    credits,
    rows,
    pagesDone: pages,
    pagesTotal: pagesTotal(list, stats),
    rowsTotal: list.stream.scope === "organization" ? totalOf(liveOf(list.state)) : null,
  });
};
