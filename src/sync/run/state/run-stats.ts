// Counts of each stream in a run, for progress lines and the report. Owns them: they change by its methods alone.
import { type LedgerStream, STREAM_NAMES, type StreamName } from "../../../catalog/streams.ts";
import type { DuckmirrorError } from "../../../core/errors.ts";
import type { StreamReport, StreamStatus } from "../../../core/report/sync-report.ts";
import type { LoadCounts, RequestRecord } from "../../../warehouse/record/checkpoint.ts";
import { completenessOf, type ProvenStream } from "./completeness.ts";

interface StreamStats {
  readonly modes: Set<string>;
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
  /** Its first failure. */
  failed: string | null;
  /** Due work was left. */
  left: boolean;
}

const empty = (): StreamStats => ({
  modes: new Set(),
  ...{ requests: 0, credits: 0, ambiguous: 0, pages: 0, rows: 0 },
  ...{ inserted: 0, updated: 0, deleted: 0, unchanged: 0, rejected: 0 },
  ...{ planned: 0, failed: null, left: false },
});

type Ended = "done" | "stopped" | "interrupted";

const statusOf = (stats: StreamStats, ended: Ended): StreamStatus => {
  if (stats.failed !== null) return "failed";
  if (stats.left && ended !== "done") return ended;
  return stats.modes.size === 0 && stats.requests === 0 ? "skipped" : "done";
};

export class RunStats {
  readonly #byStream = new Map<LedgerStream, StreamStats>(STREAM_NAMES.map((name) => [name, empty()]));

  #of(stream: LedgerStream): StreamStats {
    const known = this.#byStream.get(stream) ?? empty();
    this.#byStream.set(stream, known);
    return known;
  }

  of(stream: LedgerStream): Readonly<Omit<StreamStats, "modes">> {
    return this.#of(stream);
  }

  countRequests(requests: readonly RequestRecord[]): void {
    for (const request of requests) {
      const stats = this.#of(request.stream);
      stats.requests += 1;
      stats.credits += request.charge === "spent" ? 1 : 0;
      stats.ambiguous += request.charge === "ambiguous" ? 1 : 0;
      stats.rows += request.rows;
      stats.pages += request.status === 200 && request.error === null ? 1 : 0;
    }
  }

  countLoad(stream: StreamName, counts: LoadCounts): void {
    const stats = this.#of(stream);
    stats.inserted += counts.inserted;
    stats.updated += counts.updated;
    stats.unchanged += counts.unchanged;
    stats.rejected += counts.rejected + (counts.misfits ?? 0);
  }

  countDeleted(stream: StreamName, rows: number): void {
    this.#of(stream).deleted += rows;
  }

  /** True when this run has changed rows of the stream. */
  hasChanged(stream: StreamName): boolean {
    const { inserted, updated, deleted } = this.#of(stream);
    return inserted + updated + deleted > 0;
  }

  /** A list or record of the stream is read in this mode. */
  addMode(stream: StreamName, mode: string): void {
    this.#of(stream).modes.add(mode);
  }

  /** `requests` more are expected. */
  plan(stream: StreamName, requests: number): void {
    this.#of(stream).planned += requests;
  }

  /** Due work of the stream is left to a later run. */
  leave(stream: StreamName): void {
    this.#of(stream).left = true;
  }

  /** A list or record of the stream failed. Returns whether it is the stream's first failure: the report names that one. */
  fail(stream: StreamName, { code, message }: DuckmirrorError): boolean {
    const stats = this.#of(stream);
    const isFirst = stats.failed === null;
    stats.failed ??= `${code}: ${message}`;
    return isFirst;
  }

  totals(): { readonly requests: number; readonly credits: number; readonly ambiguous: number } {
    const all = [...this.#byStream.values()];
    const sum = (of: (stats: StreamStats) => number) => all.reduce((total, stats) => total + of(stats), 0);
    return {
      requests: sum(({ requests }) => requests),
      credits: sum(({ credits }) => credits),
      ambiguous: sum(({ ambiguous }) => ambiguous),
    };
  }

  /** `proven`: completeness of each stream. */
  reports(
    streams: readonly StreamName[],
    ended: Ended,
    proven: ReadonlyMap<string, ProvenStream>,
  ): readonly StreamReport[] {
    return streams.map((stream) => {
      const stats = this.#of(stream);
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
    });
  }
}
