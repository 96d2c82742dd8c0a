// Shared state of the workers about queued and running syncs. Redis stores it (bullmq/redis-board.ts). If it is lost,
// the cost is a superfluous run, never a wrong result.
import type { SyncPayload } from "../asking/payloads.ts";
import type { SyncTimes } from "./sync-life.ts";

/** End of a family's job, as stored in the queue. */
export interface KeptEnd {
  /** Its progress or result, a `FamilyProgress` if readable. */
  readonly progress: unknown;
  /** Text of its failure; null: it succeeded. */
  readonly failure: string | null;
}

/** Methods reject with REDIS_UNAVAILABLE and REDIS_FULL. */
export interface SyncBoard {
  isCancelled(syncId: string): Promise<boolean>;
  /** True when this worker runs the sync; false while another live worker does. */
  claim(syncId: string): Promise<boolean>;
  /** Releases the claim, so that another worker can run the sync. */
  giveUp(syncId: string): Promise<void>;
  /** Marks that a run starts, so that no further request joins. The first start counts. */
  start(syncId: string): Promise<void>;
  timesOf(syncId: string): Promise<SyncTimes>;
  /** Family -> progress of its job, for jobs that have any. */
  progressOf(syncId: string, families: readonly string[]): Promise<ReadonlyMap<string, unknown>>;
  /** Stores the progress of a family's job, whichever worker has the job. */
  keep(syncId: string, family: string, progress: object): Promise<void>;
  /** Family -> end of its job, for jobs that have ended. */
  ends(sync: Pick<SyncPayload, "syncId" | "families">): Promise<ReadonlyMap<string, KeptEnd>>;
}
