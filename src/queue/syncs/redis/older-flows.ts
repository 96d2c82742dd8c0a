// Syncs that versions 1 and 2 queued: a flow of a job for each family of streams, whose parent in the queue `publish` ends the
// sync. Once no worker of these versions is left, this one hands a flow on as one job with the same id, and ends the flow as
// that job ends, so that callers of the older version find their report.
import type { Job } from "bullmq";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { Clock } from "../../../core/clock.ts";
import { problemOf } from "../../../core/report/problem.ts";
import { errorOf } from "../../asking/asks.ts";
import { BUSY_MS, storedProblem } from "../../asking/failures.ts";
import {
  keptSync,
  parsePayload,
  type StoredOutcome,
  syncOutcome,
  syncPayload,
  VERSION,
  WRITTEN,
} from "../../asking/payloads.ts";
import { type Queues, SYNC_OPTIONS } from "../../redis/queues.ts";
import { leaveToOthers, putOff, type Taken } from "../../redis/taken-job.ts";
import { createSend } from "../../redis/together.ts";
import { announcing } from "./live-syncs.ts";

/** The queue of the parents. */
export const OLDER_QUEUE = "publish";

const olderSync = z.object({ v: z.int().min(1).max(2), families: z.array(z.string()) });

/** Whether it is a job of such a flow. */
export const isOlderFlow = (payload: unknown): boolean => olderSync.safeParse(payload).success;

export interface OlderDeps {
  readonly redis: Redis;
  readonly queues: Pick<Queues, "sync">;
  readonly clock: Pick<Clock, "now">;
  /** The oldest version of payloads that a worker of the fleet reads. */
  readonly oldestReader: () => Promise<number>;
}

/** Adds the job of the flow's sync, if it is not there. */
const addSync = async ({ job }: Taken, { redis, queues }: OlderDeps): Promise<void> => {
  const { v: _, since: __, ...asked } = z.record(z.string(), z.unknown()).parse(job.data);
  const sync = parsePayload(syncPayload, job.id ?? "", { ...asked, ...WRITTEN.sync });
  await queues.sync.add("sync", sync, { ...SYNC_OPTIONS, jobId: sync.syncId });
  await createSend(redis)([announcing(sync, false)]);
};

/** Leaves the job to a worker of the older version, while there is one. */
const leaveToOlder = async (taken: Taken, { oldestReader, clock }: OlderDeps): Promise<void> => {
  if ((await oldestReader()) < VERSION) await leaveToOthers(taken, clock.now());
};

/** The job of a family: hands its sync on. */
export const handOn = async (taken: Taken, deps: OlderDeps): Promise<null> => {
  await leaveToOlder(taken, deps);
  await addSync(taken, deps);
  return null;
};

/** The parent: ends as the sync's job did. Throws its failure. */
export const endOlder = async (taken: Taken, deps: OlderDeps): Promise<StoredOutcome> => {
  await leaveToOlder(taken, deps);
  const { queues, clock } = deps;
  const { syncId } = z.object({ syncId: z.string() }).parse(taken.job.data);
  const state = await queues.sync.getJobState(syncId);
  const job: Job | undefined = await queues.sync.getJob(syncId);
  if (job === undefined) await addSync(taken, deps);
  if (job === undefined || (state !== "completed" && state !== "failed")) return putOff(taken, BUSY_MS, clock.now());
  if (state === "completed") return parsePayload(syncOutcome, syncId, job.returnvalue);
  const kept = keptSync.safeParse(job.progress).data?.outcome;
  if (kept != null) return kept;
  throw errorOf(storedProblem(job.failedReason) ?? problemOf(new Error(job.failedReason)));
};
