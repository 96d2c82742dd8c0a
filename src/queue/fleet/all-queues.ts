// All queues of the fleet, also those that only loaders and fetchers use: requests, and each mirror's pages. Opened for
// reading and steering, not for taking jobs.
import { type Job, Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { QueueState } from "../../core/report/fleet.ts";
import { ASKING, FETCH_QUEUE, pagesQueue, type Queues } from "../redis/queues.ts";
import { loadedMirrors } from "./mirrors.ts";

export interface FleetQueue {
  readonly queue: Queue;
  /** See QueueState. */
  readonly profile: string | null;
}

export interface AllQueues {
  /** The queues that exist now: the common ones, then those of pages by profile. */
  list(): Promise<readonly FleetQueue[]>;
  /** Closes the queues that were opened here. */
  close(): Promise<void>;
}

/** `queues` stay open. `onError` receives errors that no caller gets. */
export const openAllQueues = (redis: Redis, queues: Queues, onError: (error: Error) => void): AllQueues => {
  const opened = new Map<string, Queue>();
  const open = (name: string): Queue => {
    const known = opened.get(name);
    if (known !== undefined) return known;
    const queue = new Queue(name, { ...ASKING, connection: redis, skipMetasUpdate: true });
    queue.on("error", onError);
    opened.set(name, queue);
    return queue;
  };
  return {
    list: async () => {
      const mirrors = await loadedMirrors(redis);
      const shared = [...Object.values(queues), open(FETCH_QUEUE)].map((queue) => ({ queue, profile: null }));
      return [...shared, ...mirrors.map(({ mirror, profile }) => ({ queue: open(pagesQueue(mirror)), profile }))];
    },
    close: async () => {
      await Promise.allSettled([...opened.values()].map((queue) => queue.close()));
    },
  };
};

/** The first job of a state; jobs of equal priority are in order of arrival. */
const firstOf = async (queue: Queue, state: "waiting" | "prioritized"): Promise<Job[]> =>
  queue.getJobs([state], 0, 0, true);

/** `now`: ms by Redis's clock. */
export const stateOf = async ({ queue, profile }: FleetQueue, now: number): Promise<QueueState> => {
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
    profile,
    waiting: waiting + prioritized,
    active,
    delayed,
    blocked,
    failed,
    paused,
    oldest_waiting_ms: added.length === 0 ? null : Math.max(0, now - Math.min(...added)),
  };
};
