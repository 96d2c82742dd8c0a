// Old and new programs on one Redis: what this one cannot read it leaves to another, and unreadable schedules go on.

import { expect, test } from "vitest";
import { deadLetters } from "../../../../../src/queue/dead-letters/dead-letters.ts";
import { WRITTEN } from "../../../../../src/queue/requests/job-payloads.ts";
import { schedulesOf } from "../../../../../src/queue/schedules/local.ts";
import { aFleet, anAsk, aWorker, NEWER, reached, someTriggers } from "../../worker-rig.ts";

const EVERY_SECOND = "* * * * * *";

test("jobs of a newer program are left to a newer worker, and no dead letter is made of them", async () => {
  const { redis, profiles } = await aFleet();
  const { queues, triggers } = await someTriggers(redis, profiles);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  const job = await queues.sync.getJob(runId);
  const payload = job?.data;
  await job?.updateData({ ...payload, ...NEWER });
  await aWorker(redis, profiles);
  // It was taken and put off at least twice.
  await expect
    .poll(async () => (await queues.sync.getJob(runId))?.attemptsStarted, { timeout: 30_000 })
    .toBeGreaterThan(2);
  expect(await deadLetters(queues)).toEqual([]);
  // A newer worker would take it; this one does once it can read it.
  await job?.updateData({ ...payload, ...NEWER, since: 1 });
  expect((await reached(triggers, runId)).state).toBe("done");
});

test("a schedule that no program can read is made again: every tick is a sync", async () => {
  const { redis, profiles } = await aFleet({ DUCKMIRROR_SCHEDULE: EVERY_SECOND, DUCKMIRROR_STREAMS: "accounts" });
  const { queues } = await someTriggers(redis, []);
  const [schedule] = schedulesOf(profiles);
  if (schedule === undefined) throw new Error("no schedule");
  const old = { name: "tick", data: { v: 0, when: "always" }, opts: { attempts: 1 } };
  await queues.schedule.upsertJobScheduler(schedule.id, { pattern: EVERY_SECOND, tz: "UTC" }, old);
  await aWorker(redis, profiles);
  await expect.poll(() => queues.sync.getCompletedCount(), { timeout: 30_000 }).toBeGreaterThan(0);
  expect(await queues.schedule.getFailedCount()).toBe(0);
  expect((await queues.schedule.getJobSchedulers())[0]?.template?.data).toMatchObject(WRITTEN);
});

test("a schedule that a newer program has written anew is left to it", async () => {
  const { redis, profiles } = await aFleet({ DUCKMIRROR_SCHEDULE: EVERY_SECOND });
  const { queues } = await someTriggers(redis, []);
  const [schedule] = schedulesOf(profiles);
  if (schedule === undefined) throw new Error("no schedule");
  const template = { name: "tick", data: NEWER, opts: { attempts: 1 } };
  await queues.schedule.upsertJobScheduler(schedule.id, { pattern: EVERY_SECOND, tz: "UTC" }, template);
  await aWorker(redis, profiles);
  await expect
    .poll(async () => (await queues.schedule.getDelayed()).some(({ attemptsStarted }) => attemptsStarted > 1), {
      timeout: 30_000,
    })
    .toBe(true);
  expect(await queues.schedule.getFailedCount()).toBe(0);
  expect((await queues.schedule.getJobSchedulers())[0]?.template?.data).toEqual(NEWER);
});

test("what a newer worker kept of a sync is left to it, and no stream is reported as it was not", async () => {
  const { redis, org, profiles } = await aFleet();
  const { queues, triggers } = await someTriggers(redis, profiles);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts", "contacts"] }));
  const job = await queues.sync.getJob(runId);
  await job?.updateProgress({ ...NEWER, ended: "well" });
  await aWorker(redis, profiles);
  const attempts = async () => (await queues.sync.getJob(runId))?.attemptsStarted;
  await expect.poll(attempts, { timeout: 60_000 }).toBeGreaterThan(2);
  expect(await deadLetters(queues)).toEqual([]);
  expect(org.service.log).toEqual([]);
  await job?.updateProgress({ ...NEWER, since: 1, results: [], outcome: null });
  expect((await reached(triggers, runId)).state).toBe("done");
});

test("a sync that only newer programs read is shown with its state", async () => {
  const { redis, profiles } = await aFleet();
  const { queues, triggers } = await someTriggers(redis, profiles);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  const publish = await queues.sync.getJob(runId);
  const { syncId, profile, askedAt } = publish?.data ?? {};
  await publish?.updateData({ ...NEWER, syncId, profile, askedAt, lists: ["accounts"] });
  expect(await triggers.find(runId)).toMatchObject({ runId, state: "queued", profile: "default", error: null });
  expect((await triggers.active()).map((sync) => sync.runId)).toEqual([runId]);
});

test("an ask joins no sync that only newer workers run, and leaves it in place", async () => {
  const { redis, profiles } = await aFleet();
  const { triggers, redis: client } = await someTriggers(redis, profiles);
  const ask = anAsk({ streams: ["accounts"] });
  const { runId } = await triggers.start(ask);
  const live = "{duckmirror}:open:default";
  await client.hset(live, runId, JSON.stringify({ ...NEWER, streams: ["accounts"], full: false }));
  const own = await triggers.start(ask);
  expect(own.joined).toBe(false);
  expect(await triggers.start(ask)).toEqual({ runId: own.runId, joined: true });
  await client.hset(live, runId, JSON.stringify({ ...NEWER, streams: ["newer"], full: false }));
  await triggers.start(ask);
  expect(Object.keys(await client.hgetall(live)).sort()).toEqual([runId, own.runId].sort());
});
