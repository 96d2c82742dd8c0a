// Each trap of BullMQ that was measured before it was built on: what would happen, and that it does not.
import { expect, test } from "vitest";
import { syncReportSchema } from "../../../src/core/report/sync-report.ts";
import { aGate, aNotingEngine, anAsk, anAskedFleet, aWorker, reached } from "./worker-rig.ts";

const EVERY_SECOND = "* * * * * *";
const COUNT = "SELECT (SELECT count(*) FROM accounts)::INTEGER, (SELECT count(*) FROM signals)::INTEGER";

test("a job whose lock was lost is cancelled, and goes on where it stands once it is delivered again", async () => {
  const { address, redis: client, org, profiles } = await anAskedFleet();
  const signals: AbortSignal[] = [];
  const { triggers, logged } = await aWorker(address, profiles, { onRun: (signal) => void signals.push(signal) });
  const release = org.hold();
  const { runId } = await triggers.start(anAsk());
  await expect.poll(() => signals.length, { timeout: 120_000 }).toBe(1);
  // Somebody else has the job: its lock is not this worker's any more.
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
  const { address, profiles, triggers } = await anAskedFleet();
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  const { gate } = aGate();
  for (let lost = 0; lost < 3; lost += 1) {
    const notes: string[] = [];
    // Stopping does not wait for its run: its locks run out as if it had been killed.
    const times = { stop: 1, lock: 300, stalledCheck: 100 };
    const worker = await aWorker(address, profiles, { ...aNotingEngine(notes, gate), times });
    await expect.poll(() => notes.length, { timeout: 120_000 }).toBe(1);
    await worker.stop();
  }
  await aWorker(address, profiles, { times: { lock: 300, stalledCheck: 100 } });
  expect(await reached(triggers, runId)).toMatchObject({ state: "done" });
});

test("ticks that come while a sync runs join it; looking after schedules again and again neither adds one nor loses one", async () => {
  const { address, profiles, queues } = await anAskedFleet({ DUCKMIRROR_SCHEDULE: EVERY_SECOND });
  const notes: string[] = [];
  const { gate } = aGate();
  const times = { scheduleCheck: 5 };
  const worker = await aWorker(address, profiles, { ...aNotingEngine(notes, gate), times });
  await expect.poll(() => queues.schedule.getCompletedCount(), { timeout: 120_000 }).toBeGreaterThanOrEqual(3);
  expect(notes).toHaveLength(1);
  expect(await worker.triggers.active()).toHaveLength(1);
  expect(await queues.schedule.getGlobalConcurrency()).toBe(1);
  const ticks = await queues.schedule.getCompleted();
  const seconds = ticks.map(({ id }) => Number(id?.split(":").at(-1)) / 1000).sort();
  // One for each second since the first.
  expect(seconds).toEqual(seconds.map((_, index) => (seconds[0] ?? 0) + index));
});

test("schedules come back after Redis was emptied, and go when they are no longer configured", async () => {
  const { address, org, queues, redis: client } = await anAskedFleet();
  const nightly = (cron: string) => [org.config(address, { DUCKMIRROR_SCHEDULE: cron })];
  const worker = await aWorker(address, nightly("17 5 * * *"));
  expect(await queues.schedule.getJobSchedulersCount()).toBe(1);
  await client.flushall();
  await expect.poll(() => queues.schedule.getJobSchedulersCount(), { timeout: 120_000 }).toBe(1);
  await worker.stop();
  await aWorker(address, nightly("30 6 * * *"));
  expect(await queues.schedule.getJobSchedulers()).toMatchObject([{ pattern: "30 6 * * *", tz: "UTC" }]);
});

test("finished jobs are kept for a while and not for ever, and every sync has ids of its own", async () => {
  const { triggers, queues } = await anAskedFleet();
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
