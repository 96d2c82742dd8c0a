// What the workers of a fleet know in common about syncs that are queued or under way. Redis keeps it
// (bullmq/redis-board.ts); it may be lost, and then costs a superfluous run, never a wrong result.
import type { SyncPayload } from "./payloads.ts";
import type { SyncTimes } from "./sync-life.ts";

/** How the job of a family ended, as the queue keeps it. */
export interface KeptEnd {
  /** Its progress or result; a `FamilyProgress`, if it can be read. */
  readonly progress: unknown;
  /** Text of its failure; null: it did not fail. */
  readonly failure: string | null;
}

/** Methods reject with REDIS_UNAVAILABLE and REDIS_FULL. */
export interface SyncBoard {
  isCancelled(syncId: string): Promise<boolean>;
  /** True when this worker runs the sync; false while another living one does. */
  claim(syncId: string): Promise<boolean>;
  /** This worker hands the sync on. */
  giveUp(syncId: string): Promise<void>;
  /** A run of it starts: nobody may join it any more. Its first start counts. */
  start(syncId: string): Promise<void>;
  timesOf(syncId: string): Promise<SyncTimes>;
  /** Family -> progress of its job, of jobs that have any. */
  progressOf(syncId: string, families: readonly string[]): Promise<ReadonlyMap<string, unknown>>;
  /** Keeps the progress of a family's job, whichever worker has it. */
  keep(syncId: string, family: string, progress: object): Promise<void>;
  /** Family -> how its job ended, of families whose jobs have ended. */
  ends(sync: Pick<SyncPayload, "syncId" | "families">): Promise<ReadonlyMap<string, KeptEnd>>;
}
