// The fleet at the worker's server: API, readiness, metrics and the page of the queues; and the server of a fetcher.

import { expect, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { createSteering } from "../../../src/queue/bullmq/operating/steering.ts";
import { openAllQueues } from "../../../src/queue/fleet/all-queues.ts";
import { registerMirror } from "../../../src/queue/fleet/mirrors.ts";
import { startFetcherServer, startServer } from "../../../src/server/listen.ts";
import { afterTest } from "../../support/after-test.ts";
import { FLEET_QUEUES } from "../../support/queue-names.ts";
import { aFetcher } from "../queue/remote/remote-rig.ts";
import { anOrg, aRedis, someTriggers } from "../queue/worker-rig.ts";
import { BEARER, serveQueue } from "./served-queue.ts";

const PATIENCE = { timeout: 30_000 };
const fleetSchema = z.object({
  now: z.number(),
  queues: z.array(z.object({ name: z.string(), paused: z.boolean() })),
  members: z.array(z.object({ id: z.string(), role: z.string(), version: z.string(), host: z.string() })),
  paused: z.array(z.object({ kind: z.string(), name: z.string().nullable(), since: z.number().nullable() })),
});

const steeringOf = async (...[redis, profiles]: Parameters<typeof someTriggers>) => {
  const rig = await someTriggers(redis, profiles);
  const all = openAllQueues(rig.redis, rig.queues, () => undefined);
  afterTest(() => all.close());
  return { ...rig, steering: createSteering(rig.redis, rig.queues, all) };
};

test("the API names queues, members and pauses to those with a key", async () => {
  const { url, redis, profiles } = await serveQueue();
  expect((await fetch(`${url}/api/fleet`)).status).toBe(401);
  const read = async () => fleetSchema.parse(await (await fetch(`${url}/api/fleet`, { headers: BEARER })).json());
  await expect.poll(async () => (await read()).members, PATIENCE).toMatchObject([{ role: "all", host: "test-host" }]);
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
  await steering.pause({ kind: "queue", name: "fetch" });
  const all = { fleet: true, profiles: 1, queues: ["fetch"] };
  await expect.poll(ready, PATIENCE).toEqual([200, { status: "ready", mirrors: 1, missing: 0, paused: all }]);
  await redis.kill();
  await expect.poll(ready, PATIENCE).toEqual([200, { status: "ready", mirrors: 1, missing: 0, paused: null }]);
});

test("the metrics name each queue, count the members, and show what is paused", async () => {
  const { url, redis, profiles } = await serveQueue();
  const scrape = async () => (await fetch(`${url}/metrics`, { headers: BEARER })).text();
  await expect.poll(scrape, PATIENCE).toContain('duckmirror_members{role="all",version="0.0.0"} 1');
  const { steering, queues } = await steeringOf(redis, profiles);
  await queues.publish.pause();
  await queues.publish.add("publish", {}, { timestamp: Date.now() - 60_000 });
  await steering.pause({ kind: "profile", name: "default" });
  await expect.poll(scrape, PATIENCE).toContain('duckmirror_paused{kind="profile",name="default"} 1');
  const text = await scrape();
  expect(text).toContain('duckmirror_paused{kind="queue",name="publish"} 1');
  expect(text).toContain('duckmirror_queue_depth{queue="publish",profile="",state="waiting"} 1');
  for (const state of ["waiting", "active", "delayed", "failed"]) {
    expect(text).toContain(`duckmirror_queue_depth{queue="fetch",profile="",state="${state}"} 0`);
  }
  const [, age = "0"] =
    /^duckmirror_queue_oldest_waiting_seconds\{queue="publish",profile=""\} (\S+)$/m.exec(text) ?? [];
  expect(Number(age)).toBeGreaterThan(59);
  expect(text).toContain('duckmirror_queue_oldest_waiting_seconds{queue="fetch",profile=""} 0');
});

test("the page of the queues shows that of requests and those of pages, also of a mirror that came later", async () => {
  const { url, redis, profiles } = await serveQueue();
  const schema = z.object({ queues: z.array(z.object({ name: z.string(), readOnlyMode: z.boolean() })) });
  const shown = async () => {
    const answer: unknown = await (await fetch(`${url}/queues/api/queues`, { headers: BEARER })).json();
    const { queues } = schema.parse(answer);
    expect(queues.every(({ readOnlyMode }) => readOnlyMode)).toBe(true);
    return queues.map(({ name }) => name);
  };
  const { redis: client } = await someTriggers(redis, profiles);
  expect(await shown()).toEqual(FLEET_QUEUES);
  await registerMirror(client, "0123456789abcdef", "acme");
  await expect.poll(shown, PATIENCE).toContain("pages-0123456789abcdef");
});

test("a server without Redis has no fleet", async () => {
  const org = await anOrg();
  const server = await startServer(
    {
      profiles: [{ name: "default", snapshot: `${org.dataDir}/warehouse.duckdb`, ratePerMinute: null }],
      key: null,
      clock: systemClock,
      version: "1.2.3",
      onFault: () => undefined,
    },
    { host: "127.0.0.1", port: 0 },
  );
  afterTest(server.close);
  expect((await fetch(`${server.url}/api/fleet`)).status).toBe(404);
  expect(await (await fetch(`${server.url}/readyz`)).json()).not.toHaveProperty("paused");
});

const serveFetcher = async (host = "127.0.0.1") => {
  const redis = await aRedis();
  const org = await anOrg();
  const fetcher = await aFetcher(redis, [org.config(redis)]);
  const { readiness, fleet } = fetcher;
  const onFault = (error: unknown) => {
    throw error;
  };
  const options = { key: null, clock: systemClock, version: "1.2.3", readiness, fleet, onFault };
  const server = await startFetcherServer(options, { host, port: 0 });
  afterTest(server.close);
  return { redis, fetcher, url: server.url };
};

test("a fetcher is ready while it is connected to Redis and takes requests, and healthy without it", async () => {
  const { redis, fetcher, url } = await serveFetcher();
  const ready = async () => {
    const answer = await fetch(`${url}/readyz`);
    return [answer.status, await answer.json()];
  };
  const paused = { fleet: false, profiles: 0, queues: [] };
  await expect.poll(ready, PATIENCE).toEqual([200, { status: "ready", redis: true, taking: true, paused }]);
  await redis.kill();
  const away = { status: "not ready", redis: false, taking: false, paused: null };
  await expect.poll(ready, PATIENCE).toEqual([503, away]);
  expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok", version: "1.2.3" });
  expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^duckmirror_redis_up 0$/m);
  await redis.restart();
  await expect.poll(async () => (await ready())[0], PATIENCE).toBe(200);
  await fetcher.close(0);
  expect((await ready())[0]).toBe(503);
});

test("a fetcher's metrics show the fleet; it serves no page and no API", async () => {
  const { url } = await serveFetcher();
  const scrape = async () => (await fetch(`${url}/metrics`)).text();
  await expect.poll(scrape, PATIENCE).toContain('duckmirror_members{role="fetch",version="0.0.0"} 1');
  expect(await scrape()).toMatch(/^duckmirror_redis_up 1$/m);
  for (const path of ["/", "/api/fleet", "/v1/accounts", "/queues"]) expect((await fetch(url + path)).status).toBe(404);
});

test("a fetcher that other machines could reach needs a key", async () => {
  const refused = serveFetcher("0.0.0.0");
  await expect(refused).rejects.toThrow(DuckmirrorError);
  await expect(refused).rejects.toMatchObject({ code: "SERVER_KEY_MISSING" });
});
