// How syncs ended is known for a day, however many others end.
import { Worker } from "bullmq";
import { Redis } from "ioredis";
import { expect, onTestFinished, test, vi } from "vitest";
import { outcomeOf } from "../../../../../jobs/publish.ts";
import { PREFIX, QUEUE, SYNC_OPTIONS } from "../../../../../src/queue/redis/queues.ts";
import { WRITTEN } from "../../../../../src/queue/requests/job-payloads.ts";
import { payloadOf } from "../../../../../src/queue/requests/sync-requests.ts";
import { anAsk, anOrg, aRedis, someTriggers } from "../../worker-rig.ts";

const PATIENCE = { timeout: 120_000, interval: 10 };

test("how a sync ended is known after thousands of others have ended", async () => {
  const redis = await aRedis();
  const org = await anOrg();
  const config = org.config(redis);
  const { triggers, queues } = await someTriggers(redis, [config]);
  const ids = Array.from({ length: 2_500 }, (_, nth) => `20261122T000000Z-${String(nth).padStart(6, "0")}`);
  const asked = payloadOf(anAsk({ streams: ["accounts"] }), config, Date.now(), Math.random);
  const { report, problem } = outcomeOf({ ...asked, results: [], problem: null }, { snapshot: "none" }, Date.now());
  const worker = new Worker(
    QUEUE.sync,
    async (job) => ({
      ...WRITTEN,
      report: { ...report, status: "done", run_id: job.id },
      problem,
      cancelled: false,
    }),
    { connection: new Redis(redis.url, { maxRetriesPerRequest: null }), prefix: PREFIX, concurrency: 50 },
  );
  onTestFinished(() => worker.close(true));
  const jobs = ids.map((syncId) => ({
    name: "sync",
    data: { ...asked, syncId },
    opts: { ...SYNC_OPTIONS, jobId: syncId },
  }));
  await queues.sync.addBulk(jobs);
  await vi.waitFor(async () => expect(await queues.sync.getCompletedCount()).toBe(ids.length), PATIENCE);
  expect(await triggers.find(ids[0] ?? "")).toMatchObject({ runId: ids[0], state: "done" });
});
