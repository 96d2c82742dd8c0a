// Queues and triggers that are opened while Redis goes away, or is away, work once it is back.
import type { Redis } from "ioredis";
import { expect, test, vi } from "vitest";
import type { TestRedis } from "../../../support/redis.ts";
import { anAsk, anOrg, aRedis, someTriggers } from "../worker-rig.ts";

const opened = async (redis: TestRedis, connected: (client: Redis) => Promise<void>) => {
  const org = await anOrg();
  return someTriggers(redis, [org.config(redis)], connected);
};

/** Asks for a sync and reads each queue, as soon as Redis takes it. */
const works = ({ queues, triggers }: Awaited<ReturnType<typeof opened>>) =>
  vi.waitFor(
    async () => {
      await triggers.start(anAsk());
      for (const queue of Object.values(queues)) await queue.getJobCounts("waiting");
    },
    { timeout: 60_000, interval: 50 },
  );

test("Redis goes away before it has answered anything they ask", async () => {
  const redis = await aRedis();
  const rig = await opened(redis, async () => redis.pause());
  // What they asked when they were opened has left.
  await new Promise((resolve) => setImmediate(resolve));
  await redis.restart();
  await works(rig);
});

test("while it is away they fail at once, and afterwards they work", async () => {
  const redis = await aRedis();
  const rig = await opened(redis, async (client) => {
    await redis.kill();
    await expect.poll(() => client.status, { timeout: 60_000 }).not.toBe("ready");
  });
  await expect(rig.triggers.start(anAsk())).rejects.toMatchObject({ code: "REDIS_UNAVAILABLE" });
  await expect(rig.triggers.find("x")).rejects.toMatchObject({ code: "REDIS_UNAVAILABLE" });
  await expect(rig.queues.sync.getJobCounts("waiting")).rejects.toThrow();
  await redis.restart();
  await works(rig);
});
