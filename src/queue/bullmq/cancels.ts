// Which syncs were cancelled: a key per sync, looked at by every worker that has a job of it. A message could be lost
// while a worker is reconnecting; a key cannot.
import type { Redis } from "ioredis";
import { keyOf } from "./queues.ts";

const LASTS_S = 86_400;

const keyFor = (syncId: string) => keyOf("cancelled", syncId);

export const cancelSync = async (redis: Redis, syncId: string): Promise<void> => {
  await redis.set(keyFor(syncId), "1", "EX", LASTS_S);
};

/** Those of the syncs that were cancelled. */
export const cancelledOf = async (redis: Redis, syncIds: readonly string[]): Promise<ReadonlySet<string>> => {
  if (syncIds.length === 0) return new Set();
  const marks = await redis.mget(syncIds.map(keyFor));
  return new Set(syncIds.filter((_, index) => marks[index] !== null));
};
