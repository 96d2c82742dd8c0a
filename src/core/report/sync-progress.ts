// Events that a running sync emits, and its progress, computed from them for the API and the page; also whether a sync counts as lost
// because it sends none. PURE.
import { z } from "zod";
import type { StreamStatus, SyncMode } from "./sync-report.ts";

// Events of a running sync. The engine emits them; terminal, log and server show them.

export type ProgressEvent =
  | {
      readonly kind: "run-started";
      readonly runId: string;
      readonly mode: SyncMode /** ms since the epoch */;
      readonly at: number;
    }
  | {
      readonly kind: "stream-planned";
      readonly stream: string;
      /** null: unknown until the first page arrives. */
      readonly requests: number | null;
      readonly because: string;
    }
  | {
      readonly kind: "page";
      readonly stream: string;
      /** Requests, credits and rows of this stream in this run so far. */
      readonly requests: number;
      readonly credits: number;
      readonly rows: number;
      readonly pagesDone: number;
      readonly pagesTotal: number | null;
      readonly rowsTotal: number | null;
    }
  | {
      readonly kind: "waiting";
      /** `quota`: the run ends, and the next one after the reset continues. */
      readonly why: "rate" | "retry" | "quota";
      /** ms since the epoch. */
      readonly until: number;
      /** null: the whole run waits. */
      readonly stream: string | null;
    }
  | { readonly kind: "resumed" }
  | {
      readonly kind: "stream-finished";
      readonly stream: string;
      readonly status: StreamStatus;
      readonly inserted: number;
      readonly updated: number;
      readonly deleted: number;
      readonly unchanged: number;
      readonly rejected: number;
      readonly complete: boolean;
      readonly unconfirmed: number | null;
      /** Reason why it is not complete. */
      readonly because?: string;
      readonly error?: string;
    }
  | { readonly kind: "published"; readonly path: string; readonly bytes: number; readonly ms: number }
  /** The sync found nothing new, so the snapshot stays. */
  | { readonly kind: "looked"; readonly path: string }
  /** A worker has brought the profile's exports up to date. */
  | { readonly kind: "exported"; readonly formats: readonly string[]; readonly ms: number }
  | { readonly kind: "note"; readonly level: "info" | "warn"; readonly text: string };

/** Receives the events of a run, in order. */
export type ProgressSink = (event: ProgressEvent) => void;

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
  const streams: StreamProgress[] = [];
  let changed = { ...unread(name), ...change };
  const total = { requests: 0, credits: 0, rows: 0 };
  for (const each of progress.streams) {
    if (each.stream === name) changed = { ...each, ...change };
    else streams.push(each);
  }
  streams.push(changed);
  for (const { requests, credits, rows } of streams) {
    total.requests += requests;
    total.credits += credits;
    total.rows += rows;
  }
  return { ...progress, ...total, streams };
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
