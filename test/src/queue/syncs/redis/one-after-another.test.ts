// Many requests at once: they stand in line in the process that asks, and not all of them at Redis.
import { expect, test } from "vitest";
import { anAsk, anOrg, aRedis, someTriggers } from "../../worker-rig.ts";

test("five hundred syncs that are asked for at once ask Redis for their turn about once each", async () => {
  const redis = await aRedis();
  const org = await anOrg();
  const { triggers, redis: client } = await someTriggers(redis, [org.config(redis)]);
  const asks = Array.from({ length: 500 }, () => triggers.start(anAsk({ streams: ["accounts"] })));
  const started = await Promise.all(asks);
  expect(new Set(started.map(({ runId }) => runId)).size).toBe(1);
  const [, calls = "0"] = /cmdstat_set:calls=(\d+)/.exec(await client.info("commandstats")) ?? [];
  // Those that have waited too long ask beside the others, which happens on a busy machine.
  expect(Number(calls)).toBeLessThan(2_000);
});
