// The same sentences for both stores.
import { randomUUID } from "node:crypto";
import { openSharedLedger } from "../../../../src/budget/credits/leases.ts";
import { redisLedger, redisLimiter } from "../../../../src/budget/limits-in-redis.ts";
import { startShared } from "../../../../src/budget/rate/flights.ts";
import { createMemoryState } from "../../../../src/budget/store/in-memory.ts";
import { organizationKey } from "../../../../src/budget/store/in-redis.ts";
import { connectRedis, type RedisConnection } from "../../../../src/budget/store/redis-connection.ts";
import type { Fence } from "../../../../src/budget/store/state-store.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { redisForTests } from "../../../support/redis.ts";
import { GREEDY, storeSuite } from "../store-suite.ts";

storeSuite("the memory", async () => ({
  organization: () => {
    const held = new Map<string, string>();
    const holds = ({ key, value }: Fence) => held.get(key) === value;
    // One process has one clock, so those of its parts are not asked for.
    const limiter = createMemoryState(systemClock, startShared(), holds);
    const ledger = createMemoryState(systemClock, openSharedLedger(GREEDY), holds);
    return {
      limiter: () => limiter,
      ledger: () => ledger,
      hold: async (key, value) => void held.set(key, value),
    };
  },
  close: async () => undefined,
}));

storeSuite("the Redis", async () => {
  const redis = await redisForTests();
  const connections: RedisConnection[] = [];
  const connect = () => {
    const connection = connectRedis(redis.url);
    connections.push(connection);
    return connection;
  };
  return {
    organization: () => {
      const organization = organizationKey("https://api.example", randomUUID());
      const place = () => ({ connection: connect(), organization });
      return {
        limiter: (clock) => redisLimiter({ ...place(), clock }),
        ledger: (clock) => redisLedger({ ...place(), clock }, GREEDY),
        hold: async (key, value) => {
          const { redis: client, close } = connectRedis(redis.url);
          await new Promise<void>((resolve) => client.once("ready", () => resolve()));
          await client.set(key, value, "PX", 60_000);
          await close();
        },
      };
    },
    close: async () => {
      await Promise.all(connections.map(({ close }) => close()));
      await redis.stop();
    },
  };
});
