import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../../../src/core/clock.ts";
import { deadLetters } from "../../../../../src/queue/dead-letters/dead-letters.ts";
import { openWarehouse } from "../../../../../src/warehouse/file/warehouse.ts";
import { standingClock } from "../../../../support/standing-clock.ts";
import { aFleet, anAsk, aWorker, reached, someTriggers } from "../../worker-rig.ts";

const PATIENCE = { timeout: 120_000, interval: 10 };

test("a sync that waits for the rate is over within a second of the worker's clock after it is cancelled", async () => {
  const { redis, org, profiles } = await aFleet({ DUCKMIRROR_RATE_LIMIT: "1" });
  const clock = standingClock(60);
  const worker = await aWorker(redis, profiles, { clock, times: { cancelCheck: 100 } });
  const { runId } = await worker.triggers.start(anAsk());
  const starting = setInterval(() => clock.pass(20), 5);
  onTestFinished(() => clearInterval(starting));
  // The next request has to wait for most of a minute; who shares a rate looks again every second.
  await vi.waitFor(() => expect(org.service.log.length).toBeGreaterThan(0), PATIENCE);
  await clock.stands((ms) => ms === 1_000);
  clearInterval(starting);
  const cancelledAt = clock.now();
  expect(await worker.triggers.cancel(runId)).toBe(true);
  const passing = setInterval(() => clock.now() - cancelledAt < 1_000 && clock.pass(20), 20);
  onTestFinished(() => clearInterval(passing));
  expect(await reached(worker.triggers, runId)).toMatchObject({ state: "cancelled" });
  // It stands again, so that the worker can be stopped on a clock that goes on.
  clearInterval(passing);
  const going = setInterval(() => clock.pass(100), 5);
  await worker.stop();
  clearInterval(going);
});

test("a sync that was put off because another process writes to the mirror ends at once when it is cancelled", async () => {
  const { redis, org, profiles } = await aFleet();
  const other = await openWarehouse({ dataDir: org.dataDir, clock: systemClock });
  onTestFinished(() => other.close());
  await aWorker(redis, profiles);
  const { triggers, queues } = await someTriggers(redis, profiles);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts", "contacts"] }));
  await vi.waitFor(async () => expect(await queues.sync.getDelayedCount()).toBe(1), PATIENCE);
  await triggers.cancel(runId);
  expect(await queues.sync.getDelayedCount()).toBe(0);
  expect(await reached(triggers, runId)).toMatchObject({ state: "cancelled" });
});

test("what a cancelled sync has committed is exported, and its export is no dead letter", async () => {
  const { redis, org, profiles } = await aFleet({ DUCKMIRROR_EXPORT_FORMATS: "parquet" });
  const { queues } = await someTriggers(redis, profiles);
  const worker = await aWorker(redis, profiles, { times: { cancelCheck: 1 } });
  const release = org.hold("/v1/signals");
  const { runId } = await worker.triggers.start(anAsk());
  await expect.poll(() => org.service.log.length, PATIENCE).toBeGreaterThan(0);
  await reached(worker.triggers, runId, ["running"]);
  expect(await worker.triggers.cancel(runId)).toBe(true);
  release();
  expect(await reached(worker.triggers, runId)).toMatchObject({ state: "cancelled" });
  await expect.poll(() => queues.export.getCompletedCount(), PATIENCE).toBe(1);
  expect(await deadLetters(queues)).toEqual([]);
});
