// Patience with jobs that a worker cannot run, against a real Redis: it counts from the first offer, not from the job's age,
// and not during a pause.

import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { createQueueControl, deadLetters, retryDeadLetter } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { leftFor } from "../../../../src/queue/redis/job-consumers.ts";
import { schedulesOf } from "../../../../src/queue/schedules/local.ts";
import { settleSchedules } from "../../../../src/queue/schedules/redis.ts";
import { anAsk, anAskedFleet, aWorker, NEWER, reached } from "../worker-rig.ts";

const DAY_MS = 86_400_000;
const PATIENCE = { timeout: 30_000 };
/** Ticks of every second would pile up, and each is offered again and again. */
const YEARLY = { cron: "0 0 1 1 *", timeZone: "UTC", streams: ["signals"], full: false, jitterMs: 0 };

const aRig = async () => {
  const fleet = await anAskedFleet();
  return { ...fleet, steering: createQueueControl(fleet.redis, fleet.queues) };
};

/** Makes a job older than it is, as after a long pause. */
const age = async (redis: Redis, queue: Queue, id: string, ms: number) => {
  await redis.hset(`{duckmirror}:${queue.name}:${id}`, "timestamp", Date.now() - ms);
};

const attemptsOf = (queue: Queue, id: string) => async () => (await queue.getJob(id))?.attemptsStarted ?? 0;

test("a job that waited for two days is left to another worker, and is a dead letter ten minutes later", async () => {
  const { address, profiles, queues, triggers, redis } = await aRig();
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  const id = runId;
  const job = await queues.sync.getJob(id);
  await job?.updateData({ ...job.data, ...NEWER });
  await age(redis, queues.sync, id, 2 * DAY_MS);
  await aWorker(address, profiles);
  await expect.poll(() => redis.exists(`{duckmirror}:left:sync:${id}`), PATIENCE).toBe(1);
  expect(await deadLetters(queues)).toEqual([]);
  const now = Date.now();
  await redis.set(`{duckmirror}:left:sync:${id}`, `${now - 601_000} ${now}`);
  await queues.sync.promoteJobs();
  expect(await reached(triggers, runId)).toMatchObject({ state: "failed" });
  await expect(retryDeadLetter(queues, triggers, id)).rejects.toMatchObject({ code: "JOB_VERSION" });
  expect(await deadLetters(queues)).toMatchObject([{ id, problem: { code: "JOB_VERSION" } }]);
});

test("a pause does not count: a job of another version or profile is put off, and no worker loses patience", async () => {
  const { address, profiles, queues, triggers, redis, steering } = await aRig();
  await steering.pause({ kind: "fleet", name: null });
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  const newer = await queues.sync.getJob(runId);
  await newer?.updateData({ ...newer.data, ...NEWER });
  const other = await triggers.start(anAsk({ streams: ["contacts"] }));
  const strange = await queues.sync.getJob(other.runId);
  await strange?.updateData({ ...strange.data, profile: "elsewhere" });
  for (const job of [newer, strange]) await age(redis, queues.sync, job?.id ?? "", 2 * DAY_MS);
  await aWorker(address, profiles);
  for (const job of [newer, strange]) {
    await expect.poll(attemptsOf(queues.sync, job?.id ?? ""), PATIENCE).toBe(1);
    await expect.poll(() => job?.isDelayed(), PATIENCE).toBe(true);
    const [, score] = await redis.zrange("{duckmirror}:sync:delayed", "0", "0", "WITHSCORES");
    // BullMQ keeps the time of a delayed job times 4096.
    expect(Number(score) / 4096 - Date.now()).toBeGreaterThan(15_000);
  }
  expect(await redis.keys("{duckmirror}:left:*")).toEqual([]);
  expect(await deadLetters(queues)).toEqual([]);
});

test("time without an offer does not count", async () => {
  const { redis } = await aRig();
  expect(await leftFor(redis, "sync", "job")).toBe(0);
  const now = Date.now();
  await redis.set("{duckmirror}:left:sync:job", `${now - 60_000} ${now - 30_000}`);
  expect(await leftFor(redis, "sync", "job")).toBeGreaterThanOrEqual(60_000);
  await redis.set("{duckmirror}:left:sync:job", `${now - 7_200_000} ${now - 3_600_000}`);
  expect(await leftFor(redis, "sync", "job")).toBe(0);
});

test("an old tick of a profile that this worker lacks does not end the profile's schedule", async () => {
  const { address, profiles, queues, redis } = await aRig();
  const schedules = [YEARLY];
  const [config] = profiles;
  if (config === undefined) throw new Error("there is a profile");
  await settleSchedules(queues.schedule, [{ ...config, profile: "elsewhere", schedules }]);
  const [tick] = await queues.schedule.getDelayed();
  const id = tick?.id ?? "";
  await age(redis, queues.schedule, id, DAY_MS);
  await tick?.promote();
  await aWorker(address, profiles);
  // It was taken and left to others, who are offered it again.
  await expect.poll(() => redis.exists(`{duckmirror}:left:schedule:${id}`), PATIENCE).toBe(1);
  await expect.poll(() => tick?.isDelayed(), PATIENCE).toBe(true);
  expect(await attemptsOf(queues.schedule, id)()).toBeGreaterThan(0);
  expect(await queues.schedule.getJobSchedulersCount()).toBe(1);
  expect(await queues.schedule.getFailedCount()).toBe(0);
});

test("a tick that is overdue because its queue is paused, or because no worker runs, is kept", async () => {
  const { profiles, queues } = await aRig();
  const schedules = [{ ...YEARLY, cron: "* * * * * *" }];
  const scheduled = profiles.map((config) => ({ ...config, schedules }));
  expect(await settleSchedules(queues.schedule, scheduled)).toBe(1);
  const [tick] = await queues.schedule.getDelayed();
  await queues.schedule.pause();
  await expect.poll(() => Date.now() > (tick?.timestamp ?? 0) + (tick?.delay ?? 0), PATIENCE).toBe(true);
  expect(await settleSchedules(queues.schedule, scheduled)).toBe(0);
  await queues.schedule.resume();
  expect(await settleSchedules(queues.schedule, scheduled)).toBe(0);
  expect((await queues.schedule.getDelayed()).map(({ id }) => id)).toEqual([tick?.id]);
  expect(await queues.schedule.getJobSchedulersCount()).toBe(schedulesOf(scheduled).length);
});

test("a schedule without a next tick gets it again, at the same time", async () => {
  const { profiles, queues, redis } = await aRig();
  const scheduled = profiles.map((config) => ({ ...config, schedules: [YEARLY] }));
  await settleSchedules(queues.schedule, scheduled);
  const [tick] = await queues.schedule.getDelayed();
  const id = tick?.id ?? "";
  await redis.multi().zrem("{duckmirror}:schedule:delayed", id).del(`{duckmirror}:schedule:${id}`).exec();
  expect(await settleSchedules(queues.schedule, scheduled)).toBe(1);
  expect((await queues.schedule.getDelayed()).map((again) => again.id)).toEqual([id]);
  expect(await settleSchedules(queues.schedule, scheduled)).toBe(0);
});
