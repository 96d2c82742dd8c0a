// Several workers or organizations on one Redis: nobody waits for a service that hangs, one run does all of a sync, and a
// connection that breaks fails no job of another worker. Shows P37.

import { expect, test } from "vitest";
import { deadLetters } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { aClient, anAsk, anOrg, aRedis, aWorker, reached, someTriggers, synced } from "../worker-rig.ts";

const ONE_PLACE = { DUCKMIRROR_MAX_SYNCS: "1", DUCKMIRROR_HEADERS_TIMEOUT: "10m", DUCKMIRROR_REQUEST_TIMEOUT: "10m" };

test("two syncs that hang keep neither the only place nor the jobs that a worker may take", async () => {
  const redis = await aRedis();
  const hanging = [await anOrg("hangs"), await anOrg("hangs-too")];
  const well = [await anOrg("first"), await anOrg("second")];
  const releases = hanging.map((org) => org.hold());
  const profiles = [...hanging, ...well].map((org) => org.config(redis, ONE_PLACE));
  const { triggers } = await aWorker(redis, profiles);
  const ask = async (profile: string) => (await triggers.start(anAsk({ profile }))).runId;
  const stuck = [await ask("hangs"), await ask("hangs-too")];
  const others = [await ask("first"), await ask("second")];
  for (const runId of others) expect((await reached(triggers, runId)).state).toBe("done");
  for (const runId of stuck) expect((await triggers.find(runId))?.state).toBe("running");
  for (const release of releases) release();
  for (const runId of stuck) expect((await reached(triggers, runId)).state).toBe("done");
});

test("one run does all of a sync, though two workers share its directory: what follows from accounts, too", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 5);
  const profiles = [org.config(redis)];
  const { triggers } = await someTriggers(redis, profiles);
  const workers = [await aWorker(redis, profiles), await aWorker(redis, profiles)];
  expect((await synced(triggers)).state).toBe("done");
  expect(await org.rows("SELECT count(*)::INTEGER FROM account_insights")).toEqual([[5]]);
  const runs = workers.flatMap(({ events }) => events.filter(({ event }) => event.kind === "run-started"));
  expect(runs).toHaveLength(1);
});

const PATIENCE = { timeout: 120_000 };
const BREAKS = 20;

test("a worker whose connection for questions breaks makes no dead letter of another worker's jobs", async () => {
  const address = await aRedis();
  const others = await Promise.all(["a", "b", "c", "d", "e"].map((name) => anOrg(name, 1)));
  const profiles = others.map((org) => org.config(address));
  const { triggers, queues, redis } = await someTriggers(address, profiles);
  const asked = await Promise.all(profiles.map(({ profile }) => triggers.start(anAsk({ profile }))));

  const own = await anOrg("own", 1);
  await aWorker(address, [own.config(address)]);
  const killer = aClient(address);
  const spared = String(await redis.client("ID"));
  /** Breaks the worker's connection; answers with whether there was one. */
  const breakOne = async (): Promise<boolean> => {
    const list = String(await killer.client("LIST")).split("\n");
    const ids = list.flatMap((line) => /^id=(\d+) .*name=duckmirror-asks /.exec(line)?.[1] ?? []);
    const worker = ids.filter((id) => id !== spared);
    for (const id of worker) await killer.client("KILL", "ID", id);
    return worker.length > 0;
  };
  for (let broken = 0; broken < BREAKS; broken += 1) await expect.poll(breakOne, PATIENCE).toBe(true);
  expect(await deadLetters(queues)).toEqual([]);

  await aWorker(address, profiles);
  const ended = await Promise.all(asked.map(({ runId }) => reached(triggers, runId)));
  expect(ended.map(({ state }) => state)).toEqual(asked.map(() => "done"));
});
