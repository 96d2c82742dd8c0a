// Changes the waiting job of a sync: makes a postponed one due at once, so that it sees a cancellation or the end of a pause;
// raises its priority when a person joins a sync that a schedule asked for.
import type { Job } from "bullmq";
import type { Queues } from "../../redis/queues.ts";

type SyncQueue = Pick<Queues, "sync">;

/** Gives the sync's job the priority of those that persons ask for. A job that has ended is not affected. */
export const raisePriority = async ({ sync }: SyncQueue, syncId: string): Promise<void> => {
  const job: Job | undefined = await sync.getJob(syncId);
  await job?.changePriority({ priority: 0 });
};

/** Makes the sync's job due, if it is delayed. */
export const bringForward = async ({ sync }: SyncQueue, syncId: string): Promise<void> => {
  const job: Job | undefined = await sync.getJob(syncId);
  if (job === undefined || !(await job.isDelayed())) return;
  try {
    await job.promote();
  } catch (error) {
    // It became due meanwhile.
    if (await job.isDelayed()) throw error;
  }
};
