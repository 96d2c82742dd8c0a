// Jobs of a cancelled sync that were put off, because another process writes to the mirror or Redis was away: they come now,
// see that they are cancelled, and end.
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
      // It fell due in between.
      if (await job.isDelayed()) throw error;
    }
  }
};
