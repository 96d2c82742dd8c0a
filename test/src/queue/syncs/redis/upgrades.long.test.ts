// Old and new programs on one Redis: what this one cannot read it leaves to another, and unreadable schedules go on.

import { expect, test } from "vitest";
import { deadLetters } from "../../../../../src/queue/dead-letters/dead-letters.ts";
import { WRITTEN } from "../../../../../src/queue/requests/job-payloads.ts";
import { schedulesOf } from "../../../../../src/queue/schedules/local.ts";
import { anAsk, anAskedFleet, aWorker, NEWER, reached } from "../../worker-rig.ts";

const EVERY_SECOND = "* * * * * *";

test("a schedule that no program can read is made again: every tick is a sync", async () => {
  const env = { DUCKMIRROR_SCHEDULE: EVERY_SECOND, DUCKMIRROR_STREAMS: "accounts" };
  const { address, profiles, queues } = await anAskedFleet(env);
  const [schedule] = schedulesOf(profiles);
  if (schedule === undefined) throw new Error("no schedule");
  const old = { name: "tick", data: { v: 0, when: "always" }, opts: { attempts: 1 } };
  await queues.schedule.upsertJobScheduler(schedule.id, { pattern: EVERY_SECOND, tz: "UTC" }, old);
  await aWorker(address, profiles);
  await expect.poll(() => queues.sync.getCompletedCount(), { timeout: 30_000 }).toBeGreaterThan(0);
  expect(await queues.schedule.getFailedCount()).toBe(0);
  expect((await queues.schedule.getJobSchedulers())[0]?.template?.data).toMatchObject(WRITTEN);
});

test("a schedule that a newer program has written anew is left to it", async () => {
  const { address, profiles, queues } = await anAskedFleet({ DUCKMIRROR_SCHEDULE: EVERY_SECOND });
  const [schedule] = schedulesOf(profiles);
  if (schedule === undefined) throw new Error("no schedule");
  const template = { name: "tick", data: NEWER, opts: { attempts: 1 } };
  await queues.schedule.upsertJobScheduler(schedule.id, { pattern: EVERY_SECOND, tz: "UTC" }, template);
  await aWorker(address, profiles);
  await expect
    .poll(async () => (await queues.schedule.getDelayed()).some(({ attemptsStarted }) => attemptsStarted > 1), {
      timeout: 30_000,
    })
    .toBe(true);
  expect(await queues.schedule.getFailedCount()).toBe(0);
  expect((await queues.schedule.getJobSchedulers())[0]?.template?.data).toEqual(NEWER);
});

test("what a newer worker kept of a sync is left to it, and no stream is reported as it was not", async () => {
  const { address, org, profiles, queues, triggers } = await anAskedFleet();
  const { runId } = await triggers.start(anAsk({ streams: ["accounts", "contacts"] }));
  const job = await queues.sync.getJob(runId);
  await job?.updateProgress({ ...NEWER, ended: "well" });
  await aWorker(address, profiles);
  const attempts = async () => (await queues.sync.getJob(runId))?.attemptsStarted;
  await expect.poll(attempts, { timeout: 60_000 }).toBeGreaterThan(2);
  expect(await deadLetters(queues)).toEqual([]);
  expect(org.service.log).toEqual([]);
  await job?.updateProgress({ ...NEWER, since: 1, results: [], outcome: null });
  expect((await reached(triggers, runId)).state).toBe("done");
});

test("a sync that only newer programs read is shown with its state", async () => {
  const { queues, triggers } = await anAskedFleet();
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  const publish = await queues.sync.getJob(runId);
  const { syncId, profile, askedAt } = publish?.data ?? {};
  await publish?.updateData({ ...NEWER, syncId, profile, askedAt, lists: ["accounts"] });
  expect(await triggers.find(runId)).toMatchObject({ runId, state: "queued", profile: "default", error: null });
  expect((await triggers.active()).map((sync) => sync.runId)).toEqual([runId]);
});

test("an ask joins no sync that only newer workers run, and leaves it in place", async () => {
  const { triggers, redis: client } = await anAskedFleet();
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
