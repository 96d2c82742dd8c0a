// Progress of the syncs that run in this process.
import type { SessionDeps } from "../../../jobs/session.ts";
import type { Clock } from "../../core/clock.ts";
import type { ProgressEvent } from "../../core/report/progress-events.ts";
import { progressAfter, progressAtStart, type SyncProgress } from "../../core/report/sync-progress.ts";

export interface ProgressBook {
  /** Runs the engine like `run`, and records its progress. */
  readonly run: SessionDeps["run"];
  /** Records an event of a run. */
  readonly note: (event: ProgressEvent, syncId: string) => void;
  /** Sync -> its progress, for syncs that run in this process now. A call counts as a sign of life. */
  readonly all: () => ReadonlyMap<string, SyncProgress>;
}

export const createProgressBook = (run: SessionDeps["run"], clock: Pick<Clock, "now">): ProgressBook => {
  const running = new Map<string, SyncProgress>();
  return {
    run: async (profile, request, context) => {
      const syncId = request.runId ?? "";
      running.set(syncId, progressAtStart(clock.now()));
      try {
        return await run(profile, request, context);
      } finally {
        running.delete(syncId);
      }
    },
    note: (event, syncId) => {
      const known = running.get(syncId);
      if (known !== undefined) running.set(syncId, progressAfter(known, event));
    },
    all: () => new Map([...running].map(([id, progress]) => [id, { ...progress, heartbeat_at: clock.now() }])),
  };
};
