// The fleet at the worker's server: API, readiness, metrics and the page of the queues.

import { expect, test } from "vitest";
import { z } from "zod";
import { createQueueControl } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { FLEET_QUEUES } from "../../../support/queue-names.ts";
import { aRunningServer, serving } from "../../../support/served.ts";
import { anOrg, someTriggers } from "../../queue/worker-rig.ts";
import { BEARER, serveQueue } from "../served-queue.ts";

const PATIENCE = { timeout: 30_000 };
const fleetSchema = z.object({
  now: z.number(),
  queues: z.array(z.object({ name: z.string(), paused: z.boolean() })),
  members: z.array(z.object({ id: z.string(), version: z.string(), host: z.string() })),
  paused: z.array(z.object({ kind: z.string(), name: z.string().nullable(), since: z.number().nullable() })),
});

const steeringOf = async (...[redis, profiles]: Parameters<typeof someTriggers>) => {
  const rig = await someTriggers(redis, profiles);
  return { ...rig, steering: createQueueControl(rig.redis, rig.queues) };
};

test("the API names queues, members and pauses to those with a key", async () => {
  const { url, redis, profiles } = await serveQueue();
  expect((await fetch(`${url}/api/fleet`)).status).toBe(401);
  const read = async () => fleetSchema.parse(await (await fetch(`${url}/api/fleet`, { headers: BEARER })).json());
  await expect.poll(async () => (await read()).members, PATIENCE).toMatchObject([{ host: "test-host" }]);
  expect((await read()).queues.map(({ name }) => name)).toEqual(FLEET_QUEUES);
  const { steering } = await steeringOf(redis, profiles);
  await steering.pause({ kind: "profile", name: "default" });
  await expect.poll(async () => (await read()).paused, PATIENCE).toMatchObject([{ kind: "profile", name: "default" }]);
});

test("a pause is a detail of readiness, without names of profiles and without a key; it does not make a worker unready", async () => {
  const { url, redis, profiles } = await serveQueue();
  const ready = async () => {
    const answer = await fetch(`${url}/readyz`);
    return [answer.status, await answer.json()];
  };
  const nothing = { fleet: false, profiles: 0, queues: [] };
  expect(await ready()).toEqual([200, { status: "ready", mirrors: 1, missing: 0, paused: nothing }]);
  const { steering } = await steeringOf(redis, profiles);
  await steering.pause({ kind: "fleet", name: null });
  await steering.pause({ kind: "profile", name: "default" });
  await steering.pause({ kind: "queue", name: "deliver" });
  const all = { fleet: true, profiles: 1, queues: ["deliver"] };
  await expect.poll(ready, PATIENCE).toEqual([200, { status: "ready", mirrors: 1, missing: 0, paused: all }]);
  await redis.kill();
  await expect.poll(ready, PATIENCE).toEqual([200, { status: "ready", mirrors: 1, missing: 0, paused: null }]);
});

test("the metrics name each queue, count the members, and show what is paused", async () => {
  const { url, redis, profiles } = await serveQueue();
  const scrape = async () => (await fetch(`${url}/metrics`, { headers: BEARER })).text();
  await expect.poll(scrape, PATIENCE).toContain('duckmirror_members{version="0.0.0"} 1');
  const { steering, queues } = await steeringOf(redis, profiles);
  await queues.deliver.pause();
  await queues.deliver.add("deliver", {}, { timestamp: Date.now() - 60_000 });
  await steering.pause({ kind: "profile", name: "default" });
  await expect.poll(scrape, PATIENCE).toContain('duckmirror_paused{kind="profile",name="default"} 1');
  const text = await scrape();
  expect(text).toContain('duckmirror_paused{kind="queue",name="deliver"} 1');
  expect(text).toContain('duckmirror_queue_depth{queue="deliver",state="waiting"} 1');
  for (const state of ["waiting", "active", "delayed", "failed"]) {
    expect(text).toContain(`duckmirror_queue_depth{queue="sync",state="${state}"} 0`);
  }
  const [, age = "0"] = /^duckmirror_queue_oldest_waiting_seconds\{queue="deliver"\} (\S+)$/m.exec(text) ?? [];
  expect(Number(age)).toBeGreaterThan(59);
  expect(text).toContain('duckmirror_queue_oldest_waiting_seconds{queue="sync"} 0');
});

test("a server without Redis has no fleet", async () => {
  const org = await anOrg();
  const server = await aRunningServer(serving(`${org.dataDir}/warehouse.duckdb`));
  expect((await fetch(`${server.url}/api/fleet`)).status).toBe(404);
  expect(await (await fetch(`${server.url}/readyz`)).json()).not.toHaveProperty("paused");
});
