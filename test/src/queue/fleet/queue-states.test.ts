// The queues of the fleet: how much waits, since when, and what failed.

import { expect, test } from "vitest";
import { readFleet } from "../../../../src/queue/fleet/fleet.ts";
import { FLEET_QUEUES } from "../../../support/queue-names.ts";
import { anAsk, anAskedFleet } from "../worker-rig.ts";

const aReadFleet = async () => {
  const rig = await anAskedFleet();
  return { ...rig, read: () => readFleet(rig.redis, rig.queues) };
};

const named = (fleet: Awaited<ReturnType<typeof readFleet>>, name: string) => {
  const found = fleet.queues.find((queue) => queue.name === name);
  if (found === undefined) throw new Error(`there is no queue ${name}`);
  return found;
};

test("every queue is listed, empty, before any worker ever ran", async () => {
  const { read } = await aReadFleet();
  const { queues } = await read();
  expect(queues.map(({ name }) => name)).toEqual(FLEET_QUEUES);
  const none = { waiting: 0, active: 0, delayed: 0, blocked: 0, failed: 0 };
  const empty = { ...none, paused: false, oldest_waiting_ms: null };
  for (const { name, ...state } of queues) expect([name, state]).toEqual([name, empty]);
});

test("jobs of every state are counted, and the age is that of the oldest job that waits, with and without priority", async () => {
  const { read, queues, triggers } = await aReadFleet();
  const anHourAgo = Date.now() - 3_600_000;
  await queues.deliver.add("delivery", {}, { timestamp: Date.now() - 1_000 });
  await queues.deliver.add("delivery", {}, { timestamp: anHourAgo, priority: 10 });
  await queues.deliver.add("delivery", {}, { delay: 60_000 });
  const state = named(await read(), "deliver");
  expect(state).toMatchObject({ waiting: 2, delayed: 1, active: 0, failed: 0 });
  expect(state.oldest_waiting_ms).toBeGreaterThan(3_500_000);
  await triggers.start(anAsk({ streams: ["accounts"], scheduled: true }));
  expect(named(await read(), "sync")).toMatchObject({ waiting: 1 });
  await queues.sync.pause();
  expect(named(await read(), "sync")).toMatchObject({ waiting: 1, paused: true });
});
