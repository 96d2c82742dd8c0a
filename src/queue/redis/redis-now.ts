// The clock of the fleet: Redis's own, because machines differ.
import type { Redis } from "ioredis";

/** Redis's clock, which all machines share, ms since the epoch. */
export const redisNow = async (redis: Redis): Promise<number> => {
  const [seconds = 0, micros = 0] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
};
