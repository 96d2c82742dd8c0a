// Changes the waiting jobs of a sync. Makes postponed ones due at once, so that they see a cancellation or the end of a
// pause; raises their priority when a person joins a sync that a schedule asked for.
import { FAMILIES } from "../../../../jobs/families.ts";
import { familyJobId, type Queues } from "../../redis/queues.ts";

const familyJobsOf = (queues: Queues, syncId: string) =>
  FAMILIES.map(({ family }) => queues.sync.getJob(familyJobId(syncId, family)));

/** Gives the sync's jobs the priority of those that persons ask for. Jobs that have ended are not affected. */
export const raisePriority = async (queues: Queues, syncId: string): Promise<void> => {
  const ends = [queues.publish.getJob(syncId), queues.export.getJob(familyJobId(syncId, "export"))];
  const jobs = await Promise.all([...familyJobsOf(queues, syncId), ...ends]);
  for (const job of jobs) await job?.changePriority({ priority: 0 });
};

/** Makes the sync's delayed jobs due. */
export const bringForward = async (queues: Queues, syncId: string): Promise<void> => {
  const jobs = await Promise.all([...familyJobsOf(queues, syncId), queues.publish.getJob(syncId)]);
  for (const job of jobs) {
    if (job === undefined || !(await job.isDelayed())) continue;
    try {
      await job.promote();
    } catch (error) {
      // It became due meanwhile.
      if (await job.isDelayed()) throw error;
    }
  }
};
