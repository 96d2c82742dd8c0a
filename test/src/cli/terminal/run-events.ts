// Events of a run, for what a terminal or a log shows of it.
import type { ProgressEvent } from "../../../../src/core/report/sync-progress.ts";

/** When the run began, ms since the epoch. */
export const at = Date.parse("2026-03-01T12:00:00Z");

export const aPage = (given: Partial<Extract<ProgressEvent, { kind: "page" }>> = {}): ProgressEvent => ({
  kind: "page",
  stream: "accounts",
  requests: 1,
  credits: 1,
  rows: 1000,
  pagesDone: 1,
  pagesTotal: 11,
  rowsTotal: 10_500,
  ...given,
});
export const finished: Extract<ProgressEvent, { kind: "stream-finished" }> = {
  kind: "stream-finished",
  stream: "accounts",
  status: "done",
  inserted: 12,
  updated: 3,
  deleted: 0,
  unchanged: 985,
  rejected: 0,
  complete: true,
  unconfirmed: 0,
};
