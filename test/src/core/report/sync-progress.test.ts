// Progress of a run, from its events.
import { expect, test } from "vitest";
import { type ProgressEvent, progressAfter, progressAtStart } from "../../../../src/core/report/sync-progress.ts";

const page = (stream: string, requests: number, pagesTotal: number | null = null): ProgressEvent => ({
  kind: "page",
  stream,
  requests,
  credits: requests,
  rows: 10 * requests,
  pagesDone: requests,
  pagesTotal,
  rowsTotal: null,
});
const after = (...events: readonly ProgressEvent[]) => events.reduce(progressAfter, progressAtStart(7));

test("totals are those of the streams' latest figures, which count from the start of the run", () => {
  const progress = after(page("accounts", 1), page("signals", 2), page("accounts", 3, 9));
  expect(progress).toMatchObject({ requests: 5, credits: 5, rows: 50, started_at: 7, heartbeat_at: 7 });
  expect(progress.streams).toMatchObject([
    { stream: "signals", state: "reading", pages_done: 2, pages_total: null },
    { stream: "accounts", state: "reading", pages_done: 3, pages_total: 9 },
  ]);
});

test("a wait ends with the next answer, or when it is said to", () => {
  const waiting: ProgressEvent = { kind: "waiting", why: "rate", until: 99, stream: null };
  expect(after(waiting).waiting).toEqual({ why: "rate", until: 99 });
  expect(after(waiting, page("accounts", 1)).waiting).toBeNull();
  expect(after(waiting, { kind: "resumed" }).waiting).toBeNull();
});

test("a note changes nothing", () => {
  const note: ProgressEvent = { kind: "note", level: "info", text: "x" };
  expect(after(note)).toEqual(progressAtStart(7));
});
