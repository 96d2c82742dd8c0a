// A worker that does not know a profile, exports after a sync, and syncs that the queue has forgotten.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { syncReportSchema } from "../../../src/core/report/sync-report.ts";
import { aFleet, anAsk, anOrg, aRedis, aWorker, reached, someTriggers } from "./worker-rig.ts";

test("a job of a profile that a worker does not know is left to one that does", async () => {
  const redis = await aRedis();
  const [here, there] = [await anOrg("here"), await anOrg("there")];
  await aWorker(redis, [here.config(redis)]);
  const { triggers, queues } = await someTriggers(redis, [there.config(redis)]);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  await expect.poll(() => queues.sync.getDelayedCount(), { timeout: 120_000 }).toBe(1);
  await aWorker(redis, [there.config(redis)]);
  expect((await reached(triggers, runId)).state).toBe("done");
  expect(existsSync(join(here.dataDir, "warehouse.duckdb"))).toBe(false);
});

test("what is wanted is exported after the sync, and a sync that Redis forgot is found in its mirror", async () => {
  const { redis, org, profiles } = await aFleet({ DUCKMIRROR_EXPORT_FORMATS: "parquet" });
  const { triggers } = await aWorker(redis, profiles);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  const before = await reached(triggers, runId);
  await expect.poll(() => existsSync(join(org.dataDir, "export", "_manifest.json")), { timeout: 120_000 }).toBe(true);
  const { queues, redis: client } = await someTriggers(redis, []);
  await expect.poll(() => queues.export.getCompletedCount(), { timeout: 120_000 }).toBe(1);
  await client.flushall();
  const after = await triggers.find(runId);
  expect(after).toMatchObject({ state: "done", runId, error: null });
  expect(syncReportSchema.parse(after?.report).streams).toEqual(syncReportSchema.parse(before.report).streams);
  expect(await triggers.find("20200101T000000Z-nobody")).toBeNull();
});
