// Pausing: what is paused starts nothing, what runs ends, and nothing that was asked for is lost.

import { DelayedError, Worker } from "bullmq";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { createScrubber, Secret } from "../../../../src/core/secret.ts";
import { createQueueControl } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { readFleet } from "../../../../src/queue/fleet/fleet.ts";
import { createSyncMarks } from "../../../../src/queue/redis/marks.ts";
import { openCommandConnection } from "../../../../src/queue/redis/queue-connections.ts";
import { keyOf } from "../../../../src/queue/redis/queues.ts";
import { processSync } from "../../../../src/queue/syncs/redis/process-sync.ts";
import { holdBackBy } from "../../../../src/queue/worker/queue-consumers.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aGate, aNotingEngine, anAsk, anAskedFleet, aWorker, reached } from "../worker-rig.ts";

const PATIENCE = { timeout: 30_000 };

/** Profiles of the noted runs. */
const profilesOf = (notes: readonly string[]) => notes.map((note) => note.replace(/:.*/, ""));

const aRig = async (...names: string[]) => {
  const rig = await anAskedFleet({}, names.length === 0 ? undefined : names);
  const steering = createQueueControl(rig.redis, rig.queues);
  const paused = async () => (await readFleet(rig.redis, rig.queues)).paused.map(({ kind, name }) => [kind, name]);
  /** Every waiting family's job was checked and put off. */
  const heldBack = async () => {
    const counts = await rig.queues.sync.getJobCounts("waiting", "prioritized", "active", "delayed");
    return (counts.waiting ?? 0) + (counts.prioritized ?? 0) + (counts.active ?? 0) === 0 && (counts.delayed ?? 0) > 0;
  };
  return { ...rig, steering, paused, heldBack };
};

test("syncs of a paused profile wait, those of others run, and resuming starts what waits", async () => {
  const { address, profiles, steering, triggers, heldBack, paused } = await aRig("acme", "other");
  expect(await steering.pause({ kind: "profile", name: "acme" })).toBe(true);
  expect(await steering.pause({ kind: "profile", name: "acme" })).toBe(false);
  expect(await paused()).toEqual([["profile", "acme"]]);
  const notes: string[] = [];
  await aWorker(address, profiles, aNotingEngine(notes));
  const held = await triggers.start(anAsk({ profile: "acme" }));
  const free = await triggers.start(anAsk({ profile: "other" }));
  expect(await reached(triggers, free.runId)).toMatchObject({ state: "done" });
  await expect.poll(heldBack, PATIENCE).toBe(true);
  expect(await triggers.find(held.runId)).toMatchObject({ state: "queued", paused: true });
  expect(profilesOf(notes)).toEqual(["other"]);
  expect(await steering.resume({ kind: "profile", name: "acme" })).toBe(true);
  // Without waiting for the next check, which is half a minute away.
  await expect.poll(() => profilesOf(notes), { timeout: 10_000 }).toEqual(["other", "acme"]);
  expect(await reached(triggers, held.runId)).toMatchObject({ state: "done" });
  expect(await steering.resume({ kind: "profile", name: "acme" })).toBe(false);
  expect(await paused()).toEqual([]);
});

test("a pause that ends while a worker puts its sync off leaves no job waiting", async () => {
  const { address, profiles, steering, triggers, queues, redis } = await aRig("acme");
  await steering.pause({ kind: "profile", name: "acme" });
  await triggers.start(anAsk({ profile: "acme", streams: ["accounts"] }));
  const client = new Redis(address.url, { maxRetriesPerRequest: null });
  const worker = new Worker("sync", null, { connection: client, prefix: "{duckmirror}", autorun: false });
  afterTest(async () => {
    await worker.close();
    client.disconnect();
  });
  const job = await worker.getNextJob("token");
  if (job === undefined) throw new Error("no job waits");
  const taken = {
    id: job.id,
    data: job.data,
    progress: job.progress,
    timestamp: job.timestamp,
    updateProgress: (progress: object) => job.updateProgress(progress),
    // The worker has read that the profile is paused; now the pause ends, and finds no job that was put off.
    moveToDelayed: async (at: number, token?: string) => {
      await steering.resume({ kind: "profile", name: "acme" });
      await job.moveToDelayed(at, token);
    },
    promote: () => job.promote(),
  };
  const connection = await openCommandConnection(new Secret(address.url), () => undefined);
  afterTest(() => connection.close());
  const processing = processSync(
    { job: taken, token: "token", signal: new AbortController().signal, leftFor: async () => 0 },
    {
      profiles,
      sessions: { run: () => Promise.reject(new Error("it is paused")) },
      marks: createSyncMarks(connection),
      holdBack: holdBackBy(redis, queues),
      publish: () => Promise.reject(new Error("it is paused")),
      clock: systemClock,
      scrubber: createScrubber(),
    },
  );
  await expect(processing).rejects.toThrow(DelayedError);
  expect(await queues.sync.getJobCounts("delayed", "waiting")).toEqual({ delayed: 0, waiting: 1 });
});

test("ticks of a paused profile are kept as one sync", async () => {
  const { steering, triggers, queues, address, profiles } = await aRig("acme");
  await steering.pause({ kind: "profile", name: "acme" });
  const notes: string[] = [];
  const [config] = profiles;
  if (config === undefined) throw new Error("there is a profile");
  const schedules = [{ cron: "* * * * * *", timeZone: "UTC", streams: ["signals"], full: false, jitterMs: 0 }];
  const worker = await aWorker(address, [{ ...config, schedules }], aNotingEngine(notes));
  const ids = new Set<string>();
  const seen = async () => {
    for (const { runId } of await triggers.active()) ids.add(runId);
    return ids.size;
  };
  await expect.poll(() => queues.schedule.getCompletedCount(), PATIENCE).toBeGreaterThan(2);
  expect(await seen()).toBe(1);
  expect(notes).toEqual([]);
  await worker.stop();
  expect(await seen()).toBe(1);
});

test("before a deploy: the fleet takes nothing new, the running sync ends and is published, also over a restart", async () => {
  const { steering, triggers, address, profiles, heldBack } = await aRig("first", "second");
  const { gate, open } = aGate();
  const notes: string[] = [];
  const worker = await aWorker(address, profiles, aNotingEngine(notes, gate));
  const running = await triggers.start(anAsk({ profile: "first" }));
  await expect.poll(() => profilesOf(notes), PATIENCE).toEqual(["first"]);
  expect(await steering.pause({ kind: "fleet", name: null })).toBe(true);
  const waiting = await triggers.start(anAsk({ profile: "second" }));
  open();
  expect(await reached(triggers, running.runId)).toMatchObject({ state: "done" });
  await expect.poll(heldBack, PATIENCE).toBe(true);
  await worker.stop();
  const next = await aWorker(address, profiles, aNotingEngine(notes));
  expect(await next.fleet?.()).toMatchObject({ paused: [{ kind: "fleet", name: null, since: expect.any(Number) }] });
  expect(await triggers.find(waiting.runId)).toMatchObject({ state: "queued", paused: true });
  expect(profilesOf(notes)).toEqual(["first"]);
  await steering.resume({ kind: "fleet", name: null });
  expect(await reached(triggers, waiting.runId)).toMatchObject({ state: "done" });
});

test("a running sync of a paused fleet ends, though another worker is there", async () => {
  const { steering, triggers, address, profiles } = await aRig();
  const { gate, open } = aGate();
  const notes: string[] = [];
  for (let nth = 0; nth < 2; nth += 1) await aWorker(address, profiles, aNotingEngine(notes, gate));
  const { runId } = await triggers.start(anAsk());
  await expect.poll(() => notes.length, PATIENCE).toBe(1);
  await steering.pause({ kind: "fleet", name: null });
  open();
  expect(await reached(triggers, runId)).toMatchObject({ state: "done" });
  expect(notes).toHaveLength(1);
});

test("a paused sync can be cancelled, and ends at its deadline", async () => {
  const { steering, triggers, address, profiles, heldBack } = await aRig("a", "b");
  await steering.pause({ kind: "fleet", name: null });
  await aWorker(address, profiles, aNotingEngine([]));
  const one = await triggers.start(anAsk({ profile: "a" }));
  const late = await triggers.start(anAsk({ profile: "b", timeoutMs: 1_000 }));
  await expect.poll(heldBack, PATIENCE).toBe(true);
  expect(await triggers.cancel(one.runId)).toBe(true);
  expect(await reached(triggers, one.runId)).toMatchObject({ state: "cancelled" });
  expect(await reached(triggers, late.runId)).toMatchObject({ state: "stopped", error: { code: "DURATION_SPENT" } });
});

test("one queue is paused by BullMQ itself; an unknown queue is refused with its likely name", async () => {
  const { steering, queues, paused, triggers, address, profiles } = await aRig();
  expect(await steering.pause({ kind: "queue", name: "sync" })).toBe(true);
  expect([await queues.sync.isPaused(), await paused()]).toEqual([true, [["queue", "sync"]]]);
  await aWorker(address, profiles, aNotingEngine([]));
  const { runId } = await triggers.start(anAsk());
  await expect.poll(() => queues.sync.getWaitingCount(), PATIENCE).toBe(1);
  expect(await steering.resume({ kind: "queue", name: "sync" })).toBe(true);
  expect(await reached(triggers, runId)).toMatchObject({ state: "done" });
  await queues.export.pause();
  expect(await paused()).toEqual([["queue", "export"]]);
  const unknown = steering.pause({ kind: "queue", name: "delivr" });
  await expect(unknown).rejects.toMatchObject({ code: "USAGE", message: expect.stringContaining("deliver") });
});

test("a sync whose mirror has a home is offered to its last worker for three seconds, while that one lives", async () => {
  const { redis, queues } = await aRig("acme");
  let home = true;
  const worker = (id: string) => holdBackBy(redis, queues, { id, hasHome: () => home });
  const sync = (syncId: string) => ({ profile: "acme", syncId });
  expect(await worker("one")(sync("first"))).toBeNull();
  await redis.set(keyOf("member", "one"), "{}");
  expect(await worker("other")(sync("second"))).toBe("elsewhere");
  expect(await worker("one")(sync("second"))).toBeNull();
  expect(await worker("other")(sync("third"))).toBe("elsewhere");
  await redis.set(keyOf("offered", "third"), "1");
  expect(await worker("other")(sync("third"))).toBeNull();
  // It has the mirror now, and is gone.
  expect(await worker("one")(sync("fourth"))).toBeNull();
  home = false;
  await redis.set(keyOf("member", "other"), "{}");
  expect(await worker("other")(sync("fifth"))).toBeNull();
});
