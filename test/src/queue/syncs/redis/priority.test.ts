// A sync that a person asks for is taken before those of schedules, in one profile and across profiles.

import { expect, test } from "vitest";
import { createQueueControl } from "../../../../../src/queue/dead-letters/dead-letters.ts";
import { SCHEDULED_PRIORITY } from "../../../../../src/queue/redis/queues.ts";
import { liveSyncs } from "../../../../../src/queue/syncs/redis/live-syncs.ts";
import { aGate, aNotingEngine, anAsk, anAskedFleet, aWorker, reached } from "../../worker-rig.ts";

const PATIENCE = { timeout: 30_000 };

test("across profiles, the person's sync is taken first though schedules asked before", async () => {
  const { address, profiles, triggers } = await anAskedFleet({}, ["a", "b", "person"]);
  const ids: string[] = [];
  for (const profile of ["a", "b"]) {
    const { runId } = await triggers.start(anAsk({ profile, streams: ["signals"], scheduled: true }));
    ids.push(runId);
  }
  ids.push((await triggers.start(anAsk({ profile: "person", streams: ["accounts"] }))).runId);
  const notes: string[] = [];
  // One sync at a time.
  await aWorker(
    address,
    profiles.map((profile) => ({ ...profile, maxSyncs: 1 })),
    aNotingEngine(notes),
  );
  for (const id of ids) expect((await reached(triggers, id)).state).toBe("done");
  expect(notes).toEqual(["person: accounts", "a: signals", "b: signals"]);
});

test("in one profile, the person's sync runs next, though the older one of a schedule is offered first", async () => {
  const { address, profiles, queues, redis, triggers } = await anAskedFleet({}, ["acme"]);
  const steering = createQueueControl(redis, queues);
  const target = { kind: "profile", name: "acme" } as const;
  await steering.pause(target);
  const notes: string[] = [];
  const { gate, open } = aGate();
  await aWorker(address, profiles, aNotingEngine(notes, gate));
  const scheduled = await triggers.start(anAsk({ streams: ["signals"], scheduled: true }));
  const asked = await triggers.start(anAsk({ streams: ["accounts"] }));
  expect([scheduled.joined, asked.joined]).toEqual([false, false]);
  await expect.poll(() => queues.sync.getDelayedCount(), PATIENCE).toBe(2);
  // Makes their jobs due, those of the older sync first.
  await steering.resume(target);
  await expect.poll(() => notes, PATIENCE).toEqual(["acme: accounts"]);
  open();
  for (const { runId } of [scheduled, asked]) expect((await reached(triggers, runId)).state).toBe("done");
  expect(notes).toEqual(["acme: accounts", "acme: signals"]);
});

test("a person who joins a schedule's waiting sync makes it the person's", async () => {
  const { queues, address, profiles, triggers: asking, redis } = await anAskedFleet({}, ["acme"]);
  const tick = await asking.start(anAsk({ streams: ["accounts", "signals"], scheduled: true }));
  const priority = async () => (await queues.sync.getJob(tick.runId))?.priority;
  expect(await priority()).toBe(SCHEDULED_PRIORITY);
  expect(await queues.sync.getPrioritizedCount()).toBe(1);
  // Another tick changes nothing.
  expect(await asking.start(anAsk({ streams: ["signals"], scheduled: true }))).toEqual({ ...tick, joined: true });
  expect(await queues.sync.getPrioritizedCount()).toBe(1);
  expect(await asking.start(anAsk({ streams: ["signals"] }))).toEqual({ ...tick, joined: true });
  expect(await priority()).toBe(0);
  expect([await queues.sync.getPrioritizedCount(), await queues.sync.getWaitingCount()]).toEqual([0, 1]);
  expect(await liveSyncs(redis, queues, "acme")).toMatchObject([{ syncId: tick.runId, scheduled: false }]);
  const notes: string[] = [];
  await aWorker(address, profiles, aNotingEngine(notes));
  expect((await reached(asking, tick.runId)).state).toBe("done");
  expect(notes).toEqual(["acme: accounts signals"]);
});
