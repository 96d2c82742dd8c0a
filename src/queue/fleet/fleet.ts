// The fleet as a worker process sees it: it registers itself, and reads queues, members and pauses.

import type { Job, Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import { asSeen, type Fleet, type QueueState } from "../../core/report/fleet.ts";
import { atRedis } from "../redis/queue-connections.ts";
import type { Queues } from "../redis/queues.ts";
import { redisNow } from "../redis/redis-now.ts";
import { joinFleet, type MembershipDeps, readMembers } from "./members.ts";
import { readPauses } from "./pauses.ts";

// State of a queue of the fleet: its jobs by state, and how long the oldest one has waited.

/** The first job of a state; jobs of equal priority are in order of arrival. */
const firstOf = async (queue: Queue, state: "waiting" | "prioritized"): Promise<Job[]> =>
  queue.getJobs([state], 0, 0, true);

/** `now`: ms by Redis's clock. */
const stateOf = async (queue: Queue, now: number): Promise<QueueState> => {
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

export const readFleet = async (redis: Redis, opened: Queues): Promise<Fleet> => {
  const now = await redisNow(redis);
  const [queues, members] = await Promise.all([
    Promise.all(Object.values(opened).map((queue) => stateOf(queue, now))),
    readMembers(redis),
  ]);
  const pausedQueues = queues.filter(({ paused }) => paused).map(({ name }) => name);
  return {
    now,
    queues,
    members: members.map((member) => asSeen(member, now)),
    paused: await readPauses(redis, pausedQueues),
  };
};

export interface InFleet {
  /** Throws REDIS_UNAVAILABLE. */
  read(): Promise<Fleet>;
  /** Removes this process from the register. */
  leave(): Promise<void>;
}

/** Registers this process. */
export const enterFleet = (
  connection: RedisConnection,
  queues: Queues,
  membership: Omit<MembershipDeps, "redis">,
): InFleet => {
  const { redis } = connection;
  return {
    read: () => atRedis(connection, () => readFleet(redis, queues)),
    leave: joinFleet({ ...membership, redis }),
  };
};
