// Progress of a sync's run, computed from its events, for the API and the page. If a sync shows no sign of life, its
// worker is lost, or has lost Redis. PURE.
import { z } from "zod";
import type { ProgressEvent } from "./progress-events.ts";

const streamProgress = z.object({
  stream: z.string(),
  /** `reading`, or its final status. */
  state: z.string(),
  /** In this run so far. */
  requests: z.number(),
  credits: z.number(),
  rows: z.number(),
  pages_done: z.number(),
  /** null: unknown so far. */
  pages_total: z.number().nullable(),
});
type StreamProgress = z.output<typeof streamProgress>;

/** Progress of the present run, as stored and shown; times are ms since the epoch. */
export const syncProgress = z.object({
  run_id: z.string().nullable(),
  started_at: z.number(),
  /** Last sign of life of the worker that runs it. */
  heartbeat_at: z.number(),
  requests: z.number(),
  credits: z.number(),
  rows: z.number(),
  /** Present wait of the run; null: only for responses. */
  waiting: z.object({ why: z.string(), until: z.number() }).nullable(),
  streams: z.array(streamProgress),
});
export type SyncProgress = z.output<typeof syncProgress>;

/** Progress of a run before its first event. */
export const progressAtStart = (now: number): SyncProgress => ({
  run_id: null,
  started_at: now,
  heartbeat_at: now,
  requests: 0,
  credits: 0,
  rows: 0,
  waiting: null,
  streams: [],
});

const unread = (stream: string): StreamProgress => ({
  stream,
  state: "reading",
  requests: 0,
  credits: 0,
  rows: 0,
  pages_done: 0,
  pages_total: null,
});

const withStream = (progress: SyncProgress, name: string, change: Partial<StreamProgress>): SyncProgress => {
  const known = progress.streams.find(({ stream }) => stream === name) ?? unread(name);
  const streams = [...progress.streams.filter(({ stream }) => stream !== name), { ...known, ...change }];
  const total = (figure: (stream: StreamProgress) => number) => streams.reduce((sum, each) => sum + figure(each), 0);
  return {
    ...progress,
    streams,
    requests: total((each) => each.requests),
    credits: total((each) => each.credits),
    rows: total((each) => each.rows),
  };
};

/** Progress after one event. */
export const progressAfter = (progress: SyncProgress, event: ProgressEvent): SyncProgress => {
  switch (event.kind) {
    case "run-started":
      return { ...progress, run_id: event.runId };
    case "page": {
      const { requests, credits, rows, pagesDone: pages_done, pagesTotal: pages_total } = event;
      const change = { requests, credits, rows, pages_done, pages_total };
      return withStream({ ...progress, waiting: null }, event.stream, change);
    }
    case "waiting":
      return { ...progress, waiting: { why: event.why, until: event.until } };
    case "resumed":
      return { ...progress, waiting: null };
    case "stream-finished":
      return withStream(progress, event.stream, { state: event.status });
    default:
      return progress;
  }
};
