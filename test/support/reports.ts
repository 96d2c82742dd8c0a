// Reports of syncs, for tests that run none.
import type { StreamReport, StreamStatus, SyncReport } from "../../src/core/report/sync-report.ts";

/** What a stream did: nothing but the one thing that matters to a test. */
export const aStreamReport = (stream: string, more: Partial<StreamReport> = {}): StreamReport => ({
  stream,
  mode: "walk",
  status: "done",
  requests: 1,
  credits: 1,
  pages: 1,
  inserted: 0,
  updated: 0,
  deleted: 0,
  unchanged: 0,
  rejected: 0,
  complete: true,
  unconfirmed: 0,
  ...more,
});

/** A report over these streams, all with the same status. */
export const aReport = (
  { streams = [], ...more }: Partial<Omit<SyncReport, "streams">> & { readonly streams?: readonly string[] },
  status: StreamStatus = "done",
): SyncReport => ({
  run_id: "run-1",
  status: "done",
  mode: "incremental",
  started_at: "2026-01-01T00:00:00.000Z",
  finished_at: "2026-01-01T00:01:00.000Z",
  requests: streams.length,
  credits: { spent: streams.length, ambiguous: 0, remaining: 100, limit: 1000, resets_at: "2026-02-01T00:00:00.000Z" },
  streams: streams.map((stream) => aStreamReport(stream, { status })),
  warehouse: "/data/warehouse.duckdb",
  ...more,
});
