// Makes postponed jobs of a cancelled sync due at once, so that they see the cancellation and end. They were
// postponed because another process writes to the mirror, or Redis was away.
import { FAMILIES } from "../../../jobs/families.ts";
import { familyJobId, type Queues } from "./queues.ts";

/** Makes the sync's delayed jobs due. */
export const bringForward = async (queues: Queues, syncId: string): Promise<void> => {
  const families = FAMILIES.map(({ family }) => queues.sync.getJob(familyJobId(syncId, family)));
  const jobs = await Promise.all([...families, queues.publish.getJob(syncId)]);
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
