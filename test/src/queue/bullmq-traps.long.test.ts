// Each trap of BullMQ that was measured before it was built on: what would happen, and that it does not.
import { expect, test, vi } from "vitest";
import { syncReportSchema } from "../../../src/core/report/sync-report.ts";
import type { SyncResult } from "../../../src/sync/run/run-sync.ts";
import { afterTest } from "../../support/after-test.ts";
import { aReport } from "../../support/reports.ts";
import { aFleet, anAsk, aWorker, reached, someTriggers } from "./worker-rig.ts";

const EVERY_SECOND = "* * * * * *";
const COUNT = "SELECT (SELECT count(*) FROM accounts)::INTEGER, (SELECT count(*) FROM signals)::INTEGER";

/** A run that ends when the test says so, whatever its signal says. */
const aStubbornRun = () => {
  let end = () => {};
  const started: AbortSignal[] = [];
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = () => async (_: unknown, request: { streams: readonly string[] }, context: { signal: AbortSignal }) => {
    started.push(context.signal);
    await ended;
    const status = context.signal.aborted ? "interrupted" : "done";
    const result: SyncResult = { report: aReport({ status, streams: request.streams }, status), error: null };
    return result;
  };
  afterTest(async () => end());
  return { run, started, end: () => end() };
};

test("a job whose lock was lost is cancelled, and goes on where it stands once it is delivered again", async () => {
  const { redis, org, profiles } = await aFleet();
  const signals: AbortSignal[] = [];
  const { triggers, logged } = await aWorker(redis, profiles, {
    onRun: (signal) => void signals.push(signal),
  });
  const release = org.hold();
  const { runId } = await triggers.start(anAsk());
  await expect.poll(() => signals.length, { timeout: 120_000 }).toBe(1);
  // Somebody else has the job: its lock is not this worker's any more.
  const { redis: client } = await someTriggers(redis, []);
  const locks = await client.keys("{duckmirror}:sync:*:lock");
  expect(locks).toHaveLength(1);
  await client.del(...locks);
  await expect.poll(() => signals[0]?.aborted, { timeout: 120_000 }).toBe(true);
  release();
  const { report, state } = await reached(triggers, runId);
  expect(state).toBe("done");
  expect(syncReportSchema.parse(report).run_id).toBe(runId);
  expect(logged.filter((line) => line.includes("left by its worker")).length).toBeGreaterThan(0);
  expect(await org.rows(COUNT)).toEqual([[3, 18]]);
  expect(await org.rows("SELECT run_id FROM sync.runs ORDER BY started_at")).toEqual([[runId], [`${runId}-2`]]);
  expect(
    await org.rows(
      "SELECT count(*)::INTEGER FROM (SELECT url FROM sync.requests WHERE charge = 'spent' AND stream = 'signals' GROUP BY url HAVING count(*) > 1)",
    ),
  ).toEqual([[0]]);
});

test("a job survives the loss of several workers", async () => {
  const { redis, profiles } = await aFleet();
  const { triggers } = await someTriggers(redis, profiles);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  for (let lost = 0; lost < 3; lost += 1) {
    const stubborn = aStubbornRun();
    // Stopping does not wait for it: its locks run out as if it had been killed.
    const worker = await aWorker(redis, profiles, {
      run: stubborn.run,
      times: { stop: 1, lock: 300, stalledCheck: 100 },
    });
    await expect.poll(() => stubborn.started.length, { timeout: 120_000 }).toBe(1);
    await worker.stop();
    stubborn.end();
  }
  await aWorker(redis, profiles, { times: { lock: 300, stalledCheck: 100 } });
  expect(await reached(triggers, runId)).toMatchObject({ state: "done" });
});

test("a worker that is stopped checkpoints, hands its sync on, and the next one ends it", async () => {
  const { redis, org, profiles } = await aFleet();
  const { triggers } = await someTriggers(redis, profiles);
  const signals: AbortSignal[] = [];
  const first = await aWorker(redis, profiles, { onRun: (signal) => void signals.push(signal) });
  const release = org.hold();
  const { runId } = await triggers.start(anAsk());
  await expect.poll(() => signals.length, { timeout: 120_000 }).toBe(1);
  const stopped = first.stop();
  await expect.poll(() => signals[0]?.aborted, { timeout: 120_000 }).toBe(true);
  release();
  await stopped;
  expect((await triggers.find(runId))?.state).not.toBe("done");
  await aWorker(redis, profiles);
  const sync = await reached(triggers, runId);
  expect(sync.state).toBe("done");
  expect(await org.rows(COUNT)).toEqual([[3, 18]]);
  // The report counts both runs' requests; none was sent twice.
  expect(syncReportSchema.parse(sync.report).credits.spent).toBe(org.service.spent());
});

test("ticks that come while a sync runs join it instead of overlapping it", async () => {
  const { redis, profiles } = await aFleet({ DUCKMIRROR_SCHEDULE: EVERY_SECOND });
  const stubborn = aStubbornRun();
  const worker = await aWorker(redis, profiles, {
    run: stubborn.run,
  });
  const { queues } = await someTriggers(redis, []);
  await vi.waitFor(async () => expect(await queues.schedule.getCompletedCount()).toBeGreaterThanOrEqual(3), {
    timeout: 120_000,
    interval: 50,
  });
  expect(stubborn.started).toHaveLength(1);
  expect(await worker.triggers.active()).toHaveLength(1);
  expect(await queues.schedule.getGlobalConcurrency()).toBe(1);
  stubborn.end();
});

test("schedules come back after Redis was emptied, and go when they are no longer configured", async () => {
  const { redis, org } = await aFleet();
  const nightly = (cron: string) => [org.config(redis, { DUCKMIRROR_SCHEDULE: cron })];
  const worker = await aWorker(redis, nightly("17 5 * * *"));
  const { queues, redis: client } = await someTriggers(redis, []);
  expect(await queues.schedule.getJobSchedulersCount()).toBe(1);
  await client.flushall();
  await expect.poll(() => queues.schedule.getJobSchedulersCount(), { timeout: 120_000 }).toBe(1);
  await worker.stop();
  await aWorker(redis, nightly("30 6 * * *"));
  expect(await queues.schedule.getJobSchedulers()).toMatchObject([{ pattern: "30 6 * * *", tz: "UTC" }]);
});

test("looking after schedules again and again neither adds a tick nor loses one", async () => {
  const { redis, profiles } = await aFleet({ DUCKMIRROR_SCHEDULE: EVERY_SECOND });
  const stubborn = aStubbornRun();
  await aWorker(redis, profiles, {
    run: stubborn.run,
    times: { scheduleCheck: 5 },
  });
  const { queues } = await someTriggers(redis, []);
  await vi.waitFor(async () => expect(await queues.schedule.getCompletedCount()).toBeGreaterThanOrEqual(3), {
    timeout: 120_000,
    interval: 50,
  });
  const ticks = await queues.schedule.getCompleted();
  const seconds = ticks.map(({ id }) => Number(id?.split(":").at(-1)) / 1000).sort();
  // One for each second since the first.
  expect(seconds).toEqual(seconds.map((_, index) => (seconds[0] ?? 0) + index));
  stubborn.end();
});

test("asking while Redis is away fails at once instead of hanging", async () => {
  const { redis, profiles } = await aFleet();
  const { triggers } = await someTriggers(redis, profiles);
  await redis.kill();
  await expect(triggers.start(anAsk())).rejects.toMatchObject({ code: "REDIS_UNAVAILABLE" });
  await expect(triggers.find("x")).rejects.toMatchObject({ code: "REDIS_UNAVAILABLE" });
});

test("finished jobs are kept for a while and not for ever, and every sync has ids of its own", async () => {
  const { redis, profiles } = await aFleet();
  const { triggers } = await someTriggers(redis, profiles);
  const { queues } = await someTriggers(redis, []);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  await triggers.cancel(runId);
  const again = await triggers.start(anAsk({ streams: ["accounts"] }));
  expect(again.runId).not.toBe(runId);
  // It holds its report, which many syncs a day must not push out.
  expect((await queues.sync.getJob(runId))?.opts).toMatchObject({
    attempts: 1,
    removeOnComplete: { age: 86_400, count: 250_000 },
    removeOnFail: { age: 2_592_000, count: 5_000 },
  });
});
