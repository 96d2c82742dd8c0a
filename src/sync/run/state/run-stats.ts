// Run statistics: counts of each stream in a run, for progress lines and the report.
import { type LedgerStream, STREAM_NAMES, type StreamName } from "../../../catalog/streams.ts";
import type { StreamReport, StreamStatus } from "../../../core/report/sync-report.ts";
import type { LoadCounts, RequestRecord } from "../../../warehouse/record/checkpoint.ts";
import { completenessOf, type ProvenStream } from "./completeness.ts";

interface StreamStats {
  modes: Set<string>;
  requests: number;
  credits: number;
  /** Requests without a status. */
  ambiguous: number;
  pages: number;
  rows: number;
  inserted: number;
  updated: number;
  deleted: number;
  unchanged: number;
  rejected: number;
  /** Requests still expected, where known. */
  planned: number;
  failed: string | null;
  /** Failed tasks by code and reason. */
  failures: Map<string, number>;
  /** Due work was left. */
  left: boolean;
}

const empty = (): StreamStats => ({
  modes: new Set(),
  requests: 0,
  credits: 0,
  ambiguous: 0,
  pages: 0,
  rows: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  unchanged: 0,
  rejected: 0,
  planned: 0,
  failed: null,
  failures: new Map(),
  left: false,
});

export interface RunStats {
  of(stream: LedgerStream): StreamStats;
  countRequests(requests: readonly RequestRecord[]): void;
  countLoad(stream: StreamName, counts: LoadCounts): void;
  totals(): { readonly requests: number; readonly credits: number; readonly ambiguous: number };
  /** `proven`: completeness of each stream. */
  reports(
    streams: readonly StreamName[],
    ended: "done" | "stopped" | "interrupted",
    proven: ReadonlyMap<string, ProvenStream>,
  ): readonly StreamReport[];
}

const statusOf = (stats: StreamStats, ended: "done" | "stopped" | "interrupted"): StreamStatus => {
  if (stats.failed !== null) return "failed";
  if (stats.left && ended !== "done") return ended;
  return stats.modes.size === 0 && stats.requests === 0 ? "skipped" : "done";
};

export const createRunStats = (): RunStats => {
  const byStream = new Map<LedgerStream, StreamStats>(STREAM_NAMES.map((name) => [name, empty()]));
  const of = (stream: LedgerStream): StreamStats => {
    const known = byStream.get(stream) ?? empty();
    byStream.set(stream, known);
    return known;
  };
  return {
    of,
    countRequests: (requests) => {
      for (const request of requests) {
        const stats = of(request.stream);
        stats.requests += 1;
        stats.credits += request.charge === "spent" ? 1 : 0;
        stats.ambiguous += request.charge === "ambiguous" ? 1 : 0;
        stats.rows += request.rows;
        stats.pages += request.status === 200 && request.error === null ? 1 : 0;
      }
    },
    countLoad: (stream, counts) => {
      const stats = of(stream);
      stats.inserted += counts.inserted;
      stats.updated += counts.updated;
      stats.unchanged += counts.unchanged;
      stats.rejected += counts.rejected + (counts.misfits ?? 0);
    },
    totals: () => {
      const all = [...byStream.values()];
      return {
        requests: all.reduce((sum, stats) => sum + stats.requests, 0),
        credits: all.reduce((sum, stats) => sum + stats.credits, 0),
        ambiguous: all.reduce((sum, stats) => sum + stats.ambiguous, 0),
      };
    },
    reports: (streams, ended, proven) =>
      streams.map((stream) => {
        const stats = of(stream);
        return {
          stream,
          mode: [...stats.modes].sort().join("+") || "none",
          status: statusOf(stats, ended),
          requests: stats.requests,
          credits: stats.credits,
          pages: stats.pages,
          inserted: stats.inserted,
          updated: stats.updated,
          deleted: stats.deleted,
          unchanged: stats.unchanged,
          rejected: stats.rejected,
          ...completenessOf(proven, stream, stats),
          ...(stats.failed === null ? {} : { error: stats.failed }),
        };
      }),
  };
};
