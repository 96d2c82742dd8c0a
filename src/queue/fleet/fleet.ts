// Reads the whole fleet from Redis: queues, members, pauses.
import type { Redis } from "ioredis";
import type { Fleet } from "../../core/fleet.ts";
import { redisNow } from "../bullmq/redis-board.ts";
import { type AllQueues, stateOf } from "./all-queues.ts";
import { readMembers } from "./members.ts";
import { readPauses } from "./pauses.ts";

export const readFleet = async (redis: Redis, all: AllQueues): Promise<Fleet> => {
  const now = await redisNow(redis);
  const [queues, members] = await Promise.all([
    all.list().then((list) => Promise.all(list.map((queue) => stateOf(queue, now)))),
    readMembers(redis),
  ]);
  const pausedQueues = queues.filter(({ paused }) => paused).map(({ name }) => name);
  return { now, queues, members, paused: await readPauses(redis, pausedQueues) };
};
