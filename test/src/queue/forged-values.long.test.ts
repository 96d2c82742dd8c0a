// Values that somebody else wrote into a real Redis: ids that are names of JavaScript's own, paths, several lines, or endless. A worker
// asks the service nothing for them, makes no file of their name, logs them on one line, lists them without harm, and goes on.
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { createLogger } from "../../../src/core/log.ts";
import { createScrubber } from "../../../src/core/secret.ts";
import { deadLetters } from "../../../src/queue/dead-letters/dead-letters.ts";
import { WRITTEN } from "../../../src/queue/requests/job-payloads.ts";
import { keyDigest } from "../../../src/queue/requests/sync-requests.ts";
import { aFleet, anAsk, aWorker, reached, someTriggers } from "./worker-rig.ts";

const INJECTED = "INJECTED";
const FORGED: readonly string[] = [
  "__proto__",
  "../..",
  "../../outside",
  "/tmp/outside",
  ".",
  "a\u0000b",
  `a\n{"level":"error","msg":"${INJECTED}"}`,
  `a\r\n${INJECTED}`,
  "\u001b[2Jx",
  "x".repeat(10_000),
];
const PATIENCE = { timeout: 60_000, interval: 50 };

const payloadOf = (syncId: string) => ({
  ...WRITTEN,
  ...{ syncId, profile: "default", streams: ["accounts"], full: true, named: true, askedAt: Date.now() },
  ...{ destination: syncId, alert: syncId },
});

/** A tick would start a sync, as a writer to Redis may (SECURITY.md): this is none. One job in each queue for the id, which is also the id of the job where BullMQ allows it. */
const forgeJobs = async (queues: readonly Queue[], id: string): Promise<number> => {
  const each = queues.map((queue) => queue.add(id, payloadOf(id), { jobId: id, attempts: 1 }));
  return (await Promise.allSettled(each)).filter(({ status }) => status === "fulfilled").length;
};

const forgeKeys = async (redis: Redis, id: string): Promise<void> => {
  const extent = JSON.stringify({ ...WRITTEN, streams: ["accounts"], full: true, scheduled: true });
  const member = { version: id, host: id, pid: 1, since: 1, seen_at: 1, in_flight: 1, unable: [] };
  await redis.hset("{duckmirror}:open:default", id, extent);
  await redis.set(`{duckmirror}:asked:default:${keyDigest("nightly")}`, `${id} ${id}`);
  await redis.sadd("{duckmirror}:members", id);
  await redis.set(`{duckmirror}:member:${id}`, JSON.stringify(member));
  for (const mark of ["cancelled", "progress", "started", "due", "left:sync"]) {
    await redis.set(`{duckmirror}:${mark}:${id}`, id);
  }
};

const codeOf = (error: unknown) => (error instanceof DuckmirrorError ? error.code : error);

test("forged values in Redis reach no file, no request, no line of the log, and stop no sync", async () => {
  const { redis, org, profiles } = await aFleet();
  const rig = await someTriggers(redis, profiles);
  const queues = Object.values(rig.queues).filter((queue): queue is Queue => "add" in queue);
  let jobs = 0;
  for (const id of FORGED) {
    jobs += await forgeJobs(queues, id);
    await forgeKeys(rig.redis, id);
  }
  expect(jobs).toBeGreaterThan(FORGED.length * 3);

  const lines: string[] = [];
  const target = { write: (text: string) => void lines.push(text) };
  const logger = createLogger({ level: "info", format: "pretty", colour: false, scrubber: createScrubber(), target });
  const worker = await aWorker(redis, profiles, { log: (level, text) => logger[level](text) });
  const waiting = async () => {
    const counts = await Promise.all(queues.map((queue) => queue.getJobCounts("waiting", "active", "prioritized")));
    return counts.flatMap((count) => Object.values(count)).reduce((sum, count) => sum + count, 0);
  };
  await expect.poll(waiting, PATIENCE).toBe(0);
  expect(org.service.log).toEqual([]);

  // A key whose stored run is no run is a new one; what nobody can join is joined by nobody.
  const { runId, joined } = await worker.triggers.start(anAsk({ idempotencyKey: "nightly" }));
  expect([joined, FORGED.includes(runId)]).toEqual([false, false]);
  expect((await reached(worker.triggers, runId)).state).toBe("done");
  const active = await worker.triggers.active();
  expect(active.filter((sync) => FORGED.includes(sync.runId))).toEqual([]);
  for (const id of FORGED) {
    for (const answer of [worker.triggers.find(id), worker.triggers.cancel(id)]) {
      expect([null, false, "JOB_VERSION"], id).toContain(await answer.catch(codeOf));
    }
  }
  expect((await worker.fleet?.())?.members.length).toBeGreaterThan(0);
  await deadLetters(rig.queues);
  await worker.stop();

  expect(await org.rows("SELECT DISTINCT run_id FROM sync.runs")).toEqual([[runId]]);
  const beside = readdirSync(dirname(org.dataDir));
  const files = [...readdirSync(org.dataDir, { recursive: true, encoding: "utf8" }), ...beside];
  expect(files.filter((name) => /outside|__proto__|xxxx|INJECTED/.test(name))).toEqual([]);
  expect(lines.filter((line) => line.trim().includes("\n") || line.length > 2_000)).toEqual([]);
  expect(lines.filter((line) => ["\r", "\u0000", "\u001b"].some((one) => line.includes(one)))).toEqual([]);
  expect(Object.keys(Object.prototype)).toEqual([]);
});
