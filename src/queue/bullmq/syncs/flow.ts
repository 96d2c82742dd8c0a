// The flow of one sync: its families, then publish, then export. PURE: returns the flow that BullMQ adds in one step.
import type { FlowJob } from "bullmq";
import type { SyncPayload } from "../../asking/payloads.ts";
import { END_OPTIONS, familyJobId, JOB_OPTIONS, PREFIX, QUEUE, SCHEDULED_PRIORITY } from "../../redis/queues.ts";

/** A failed family is a dead letter; its siblings continue, and publish runs when all have ended. */
const ON_FAILURE = { ignoreDependencyOnFailure: true } as const;

/** The flow; `exports`: something is to be written after it; `scheduled`: only a schedule asked for it. */
export const flowOf = (sync: SyncPayload, exports: boolean, scheduled: boolean): FlowJob => {
  const rank = scheduled ? { priority: SCHEDULED_PRIORITY } : {};
  const children = sync.families.map((family) => ({
    name: family,
    queueName: QUEUE.sync,
    prefix: PREFIX,
    data: { ...sync, family },
    opts: { ...JOB_OPTIONS, ...rank, ...ON_FAILURE, jobId: familyJobId(sync.syncId, family) },
  }));
  const publish = { name: "publish", queueName: QUEUE.publish, prefix: PREFIX, data: sync, children };
  if (!exports) return { ...publish, opts: { ...END_OPTIONS, ...rank, jobId: sync.syncId } };
  const { v, since, syncId, profile, traceparent } = sync;
  return {
    name: "export",
    queueName: QUEUE.export,
    prefix: PREFIX,
    data: { v, since, syncId, profile, ...(traceparent === undefined ? {} : { traceparent }) },
    opts: { ...JOB_OPTIONS, ...rank, jobId: familyJobId(syncId, "export") },
    children: [{ ...publish, opts: { ...END_OPTIONS, ...rank, ...ON_FAILURE, jobId: syncId } }],
  };
};
