// The fleet as a worker process sees it: it registers itself, and reads queues, members and pauses.
import type { Redis } from "ioredis";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import { asSeen, type Fleet } from "../../core/report/fleet.ts";
import { atRedis } from "../redis/queue-connections.ts";
import type { Queues } from "../redis/queues.ts";
import { redisNow } from "../redis/redis-now.ts";
import { type AllQueues, openAllQueues, stateOf } from "./all-queues.ts";
import { joinFleet, type MembershipDeps, readMembers } from "./members.ts";
import { readPauses } from "./pauses.ts";

export const readFleet = async (redis: Redis, all: AllQueues): Promise<Fleet> => {
  const now = await redisNow(redis);
  const [queues, members] = await Promise.all([
    all.list().then((list) => Promise.all(list.map((queue) => stateOf(queue, now)))),
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
  readonly all: AllQueues;
  /** Throws REDIS_UNAVAILABLE. */
  read(): Promise<Fleet>;
  /** Removes this process from the register, and closes what was opened here. */
  leave(): Promise<void>;
}

/** Registers this process. `queues` stay open. */
export const enterFleet = (
  connection: RedisConnection,
  queues: Queues,
  membership: Omit<MembershipDeps, "redis">,
): InFleet => {
  const { redis } = connection;
  const all = openAllQueues(redis, queues, membership.onError);
  const leaveRegister = joinFleet({ ...membership, redis });
  return {
    all,
    read: () => atRedis(connection, () => readFleet(redis, all)),
    leave: async () => {
      await leaveRegister();
      await all.close();
    },
  };
};
