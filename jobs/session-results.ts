// Results of the runs of recent syncs, for jobs that are delivered again.
import type { StreamName } from "../src/catalog/streams.ts";
import type { SyncResult } from "../src/sync/run/run-sync.ts";

/** Number of syncs whose results are kept. */
const REMEMBERED = 200;

/** The report reduced to given streams. */
export const partOf = ({ report, error }: SyncResult, streams: readonly string[]): SyncResult => ({
  report: { ...report, streams: report.streams.filter(({ stream }) => streams.includes(stream)) },
  error,
});

/** True when this run decides how the stream ended. A run that Redis interrupted does not. */
const settlesStream = ({ report, error }: SyncResult, name: string): boolean =>
  error?.code !== "REDIS_UNAVAILABLE" &&
  report.streams.some(({ stream, status }) => stream === name && status !== "interrupted");

export interface EndedRuns {
  remember(syncId: string, result: SyncResult): void;
  /** Runs of this sync that report on these streams, and the streams that none of them settles. */
  knownOf(
    syncId: string,
    streams: readonly StreamName[],
  ): { readonly runs: readonly SyncResult[]; readonly left: readonly StreamName[] };
}

export const createEndedRuns = (): EndedRuns => {
  const ended = new Map<string, SyncResult[]>();
  return {
    remember: (syncId, result) => {
      ended.set(syncId, [...(ended.get(syncId) ?? []), result]);
      for (const oldest of [...ended.keys()].slice(0, Math.max(0, ended.size - REMEMBERED))) ended.delete(oldest);
    },
    knownOf: (syncId, streams) => {
      const runs = (ended.get(syncId) ?? []).map((result) => partOf(result, streams));
      return { runs, left: streams.filter((stream) => !runs.some((run) => settlesStream(run, stream))) };
    },
  };
};
