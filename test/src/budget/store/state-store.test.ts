// The same sentences for both stores.
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { openSharedLedger } from "../../../../src/budget/credits/leases.ts";
import { redisLedger, redisLimiter } from "../../../../src/budget/limits-in-redis.ts";
import { startShared } from "../../../../src/budget/rate/windows.ts";
import { organizationKey } from "../../../../src/budget/store/in-redis.ts";
import { connectRedis, type RedisConnection } from "../../../../src/budget/store/redis-connection.ts";
import { createMemoryState } from "../../../../src/budget/store/state-store.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { redisForTests } from "../../../support/redis.ts";
import { limits } from "../limits.ts";
import { storeSuite } from "../store-suite.ts";

// State of one process: each update sees the one before it.

const clock = { now: () => 7, sleep: async () => undefined };

test("updates are made in the order of the calls, at the clock's time", async () => {
  const store = createMemoryState(clock, 1);
  const add = (more: number) => store.update((state, now) => ({ state: state + more, result: [state, now] }));
  expect(await Promise.all([add(1), add(10), add(100)])).toEqual([
    [1, 7],
    [2, 7],
    [12, 7],
  ]);
  expect(store.shared).toBe(false);
});

test("a step that throws leaves the state as it was", async () => {
  const store = createMemoryState(clock, 1);
  const step = (state: number) => ({ state: state + 1, result: state });
  const failing = store.update(() => {
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(await store.update(step)).toBe(1);
});

storeSuite("the memory", async () => ({
  organization: () => {
    // One process has one clock, so those of its parts are not asked for.
    const limiter = createMemoryState(systemClock, startShared());
    const ledger = createMemoryState(systemClock, openSharedLedger(limits()));
    return {
      limiter: () => limiter,
      ledger: () => ledger,
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
        ledger: (clock) => redisLedger({ ...place(), clock }, limits()),
      };
    },
    close: async () => {
      await Promise.all(connections.map(({ close }) => close()));
      await redis.stop();
    },
  };
});
