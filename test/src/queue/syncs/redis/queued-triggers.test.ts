// Organizations that share a Redis: a process finds and cancels the runs of its own profiles, and no others.
import { expect, test } from "vitest";
import { aFleet, anAsk, anOrg, aRedis, someTriggers } from "../../worker-rig.ts";

// Many requests at once: they stand in line in the process that asks, and not all of them at Redis.

test("five hundred syncs that are asked for at once ask Redis for their turn about once each", async () => {
  const { redis, profiles } = await aFleet();
  const { triggers, redis: client } = await someTriggers(redis, profiles);
  const asks = Array.from({ length: 500 }, () => triggers.start(anAsk({ streams: ["accounts"] })));
  const started = await Promise.all(asks);
  expect(new Set(started.map(({ runId }) => runId)).size).toBe(1);
  const [, calls = "0"] = /cmdstat_set:calls=(\d+)/.exec(await client.info("commandstats")) ?? [];
  // Those that have waited too long ask beside the others, which happens on a busy machine.
  expect(Number(calls)).toBeLessThan(2_000);
});

test("a process neither finds, lists nor cancels a run of a profile that is not one of its own", async () => {
  const server = await aRedis();
  const org = await anOrg();
  const config = org.config(server);
  const theirs = await someTriggers(server, [{ ...config, profile: "theirs" }]);
  const ours = await someTriggers(server, [{ ...config, profile: "ours" }]);
  const sync = await theirs.triggers.start(anAsk({ streams: ["accounts"] }));
  const verification = await theirs.triggers.verify?.({ profile: null });
  const runs = [sync.runId, verification?.runId ?? ""];

  for (const runId of runs) {
    expect(await ours.triggers.find(runId)).toBeNull();
    expect(await ours.triggers.cancel(runId)).toBe(false);
    expect(await theirs.triggers.find(runId)).toMatchObject({ runId, state: "queued", profile: "theirs" });
  }
  expect(await ours.triggers.active()).toEqual([]);
  expect((await theirs.triggers.active()).map(({ runId }) => runId)).toEqual(runs);

  for (const runId of runs) expect(await theirs.triggers.cancel(runId)).toBe(true);
});
