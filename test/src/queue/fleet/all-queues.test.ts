// All queues of the fleet, also those of requests and of pages: how much waits, since when, and what failed.

import { expect, test } from "vitest";
import { openAllQueues } from "../../../../src/queue/fleet/all-queues.ts";
import { readFleet } from "../../../../src/queue/fleet/fleet.ts";
import { loadedMirrors, registerMirror } from "../../../../src/queue/fleet/mirrors.ts";
import { FETCH_QUEUE } from "../../../../src/queue/redis/queues.ts";
import { afterTest } from "../../../support/after-test.ts";
import { FLEET_QUEUES } from "../../../support/queue-names.ts";
import { aLoader } from "../remote/remote-rig.ts";
import { anAsk, anOrg, aRedis, someTriggers } from "../worker-rig.ts";

const aFleet = async (name?: string) => {
  const redis = await aRedis();
  const org = await anOrg(name);
  const config = org.config(redis);
  const rig = await someTriggers(redis, [config]);
  const all = openAllQueues(rig.redis, rig.queues, () => undefined);
  afterTest(() => all.close());
  return { ...rig, address: redis, config, all, read: () => readFleet(rig.redis, all) };
};

const named = (fleet: Awaited<ReturnType<typeof readFleet>>, name: string) => {
  const found = fleet.queues.find((queue) => queue.name === name);
  if (found === undefined) throw new Error(`there is no queue ${name}`);
  return found;
};

test("the queue of requests is listed, empty, before any fetcher ever ran", async () => {
  const { read } = await aFleet();
  const { queues } = await read();
  expect(queues.map(({ name }) => name)).toEqual(FLEET_QUEUES);
  const empty = {
    profile: null,
    waiting: 0,
    active: 0,
    delayed: 0,
    blocked: 0,
    failed: 0,
    paused: false,
    oldest_waiting_ms: null,
  };
  for (const { name, ...state } of queues) expect([name, state]).toEqual([name, empty]);
});

test("a loader makes the queue of its mirror's pages known, with its profile", async () => {
  const { read, address, config } = await aFleet("acme");
  const loader = await aLoader(address, config);
  const pages = (await read()).queues.filter(({ profile }) => profile !== null);
  expect(pages).toMatchObject([{ name: expect.stringMatching(/^pages-[0-9a-f]{16}$/), profile: "acme" }]);
  await loader.close();
  expect((await read()).queues).toHaveLength(9);
});

test("jobs of every state are counted, and the age is that of the oldest job that waits, with and without priority", async () => {
  const { read, queues, triggers, all } = await aFleet();
  const fetch = (await all.list()).find(({ queue }) => queue.name === FETCH_QUEUE)?.queue;
  const anHourAgo = Date.now() - 3_600_000;
  await fetch?.add("request", {}, { timestamp: Date.now() - 1_000 });
  await fetch?.add("request", {}, { timestamp: anHourAgo, priority: 10 });
  await fetch?.add("request", {}, { delay: 60_000 });
  const state = named(await read(), FETCH_QUEUE);
  expect(state).toMatchObject({ waiting: 2, delayed: 1, active: 0, failed: 0 });
  expect(state.oldest_waiting_ms).toBeGreaterThan(3_500_000);
  await triggers.start(anAsk({ streams: ["accounts"], scheduled: true }));
  expect(named(await read(), "sync")).toMatchObject({ waiting: 1 });
  await queues.sync.pause();
  expect(named(await read(), "sync")).toMatchObject({ waiting: 1, paused: true });
});

test("mirrors that no loader used for thirty days, and entries that cannot be read, are forgotten", async () => {
  const { redis } = await aFleet();
  const old = JSON.stringify({ profile: "old", used_at: Date.now() - 31 * 86_400_000 });
  await redis.hset("{duckmirror}:mirrors", { "00000000000000aa": old, "00000000000000bb": "{" });
  await registerMirror(redis, "00000000000000cc", "acme");
  expect(await loadedMirrors(redis)).toEqual([{ mirror: "00000000000000cc", profile: "acme" }]);
  expect(await redis.hkeys("{duckmirror}:mirrors")).toEqual(["00000000000000cc"]);
});
