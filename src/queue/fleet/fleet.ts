// The fleet as a worker process sees it: it registers itself, and reads queues, members and pauses.
import type { Redis } from "ioredis";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import { asSeen, type Fleet } from "../../core/report/fleet.ts";
import { atRedis } from "../redis/queue-connections.ts";
import type { Queues } from "../redis/queues.ts";
import { redisNow } from "../redis/redis-now.ts";
import { joinFleet, type MembershipDeps, readMembers } from "./members.ts";
import { readPauses } from "./pauses.ts";
import { stateOf } from "./queue-states.ts";

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
