// One connection of a worker breaks while the others live: the jobs it was just offered are put off, not failed.

import { expect, test } from "vitest";
import { deadLetters } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { aClient, anAsk, anOrg, aRedis, aWorker, reached, someTriggers } from "../worker-rig.ts";

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
