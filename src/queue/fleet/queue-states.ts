// State of a queue of the fleet: its jobs by state, and how long the oldest one has waited.
import type { Job, Queue } from "bullmq";
import type { QueueState } from "../../core/report/fleet.ts";

/** The first job of a state; jobs of equal priority are in order of arrival. */
const firstOf = async (queue: Queue, state: "waiting" | "prioritized"): Promise<Job[]> =>
  queue.getJobs([state], 0, 0, true);

/** `now`: ms by Redis's clock. */
export const stateOf = async (queue: Queue, now: number): Promise<QueueState> => {
  const [counts, paused, ...firsts] = await Promise.all([
    queue.getJobCounts("waiting", "prioritized", "active", "delayed", "failed", "waiting-children"),
    queue.isPaused(),
    firstOf(queue, "waiting"),
    firstOf(queue, "prioritized"),
  ]);
  const { waiting = 0, prioritized = 0, active = 0, delayed = 0, failed = 0, "waiting-children": blocked = 0 } = counts;
  // A job that was taken meanwhile is read as nothing.
  const added = firsts.flat().flatMap((job: Job | undefined) => (job === undefined ? [] : [job.timestamp]));
  return {
    name: queue.name,
    waiting: waiting + prioritized,
    active,
    delayed,
    blocked,
    failed,
    paused,
    oldest_waiting_ms: added.length === 0 ? null : Math.max(0, now - Math.min(...added)),
  };
};
