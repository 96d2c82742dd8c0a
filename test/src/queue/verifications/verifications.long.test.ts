// Verifications that a worker is asked for, with Redis and without: never beside a sync, and followed like one. In Redis any process
// finds one; it outlives its worker, or is reported as lost.

import { Worker } from "bullmq";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { z } from "zod";
import { VERIFY_CREDITS } from "../../../../jobs/verify.ts";
import { deadLetters } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { findStored } from "../../../../src/queue/requests/stored-failures.ts";
import type { Triggers } from "../../../../src/queue/requests/sync-requests.ts";
import { afterTest } from "../../../support/after-test.ts";
import { anAsk, anOrg, aRedis, aWorker, aWorkerOf, reached, someTriggers, synced, WAYS } from "../worker-rig.ts";

const verify = async (triggers: Triggers) => {
  if (triggers.verify === undefined) throw new Error("this worker makes no verifications");
  return triggers.verify({ profile: null });
};

const reportSchema = z.object({
  run_id: z.string(),
  credits: z.object({ spent: z.number() }),
  checks: z.array(z.object({ status: z.string() })).nonempty(),
  differences: z.array(z.unknown()),
});

const ONE = { accounts: 1 };
const MODES = "SELECT mode, status FROM sync.runs ORDER BY started_at";

for (const name of WAYS) {
  test(`${name}: a verification waits for the sync under way, and reports what it compared`, async () => {
    const { org, worker } = await aWorkerOf(name, ONE);
    const { triggers } = worker;
    const release = org.hold();
    const sync = await triggers.start(anAsk({ streams: ["accounts", "signals"] }));
    await expect.poll(() => worker.events.map(({ event }) => event.kind)).toContain("run-started");
    const { runId, joined } = await verify(triggers);
    expect(joined).toBe(false);
    expect(await verify(triggers)).toEqual({ runId, joined: true });
    expect((await triggers.find(runId))?.state).toBe("queued");
    expect((await triggers.active()).map((run) => run.runId)).toEqual([sync.runId, runId]);
    release();
    const { state, error, report, profile } = await reached(triggers, runId);
    expect([state, error, profile]).toEqual(["done", null, "default"]);
    const { run_id, credits, differences } = reportSchema.parse(report);
    expect([run_id, differences]).toEqual([runId, []]);
    expect(credits.spent).toBeGreaterThan(0);
    expect(credits.spent).toBeLessThanOrEqual(20);
    expect((await triggers.find(sync.runId))?.state).toBe("done");
    expect(await org.rows(MODES)).toEqual([
      ["full", "done"],
      ["verify", "done"],
    ]);
  });

  test(`${name}: a sync waits for the verification under way; a cancelled one leaves nothing behind`, async () => {
    const { org, worker } = await aWorkerOf(name, ONE);
    const { triggers } = worker;
    await synced(triggers, { streams: ["accounts"] });
    const release = org.hold();
    const { runId } = await verify(triggers);
    await reached(triggers, runId, ["running"]);
    const second = await triggers.start(anAsk({ streams: ["accounts"], full: true }));
    expect(await triggers.cancel(runId)).toBe(true);
    expect((await triggers.find(runId))?.state).toBe("running");
    release();
    expect(await reached(triggers, runId)).toMatchObject({ state: "cancelled", error: { code: "INTERRUPTED" } });
    expect(await triggers.cancel(runId)).toBe(false);
    expect((await reached(triggers, second.runId)).state).toBe("done");
  });
}

test("before anything is mirrored it fails with the reason, and of an unknown profile it is refused", async () => {
  const { worker } = await aWorkerOf("without Redis", ONE);
  const { triggers } = worker;
  const { runId } = await verify(triggers);
  expect(await reached(triggers, runId)).toMatchObject({ state: "failed", error: { code: "SNAPSHOT_MISSING" } });
  await expect(triggers.verify?.({ profile: "nobody" })).rejects.toMatchObject({ code: "PROFILE_UNKNOWN" });
});

test("a worker that stops ends the verification under way", async () => {
  const { org, worker } = await aWorkerOf("without Redis", ONE);
  const { triggers } = worker;
  await synced(triggers, { streams: ["accounts"] });
  const release = org.hold();
  const { runId } = await verify(triggers);
  await reached(triggers, runId, ["running"]);
  const stopping = worker.stop();
  release();
  await stopping;
  expect((await triggers.find(runId))?.state).toBe("cancelled");
});

const aMirror = async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 1);
  const profiles = [org.config(redis)];
  const elsewhere = await someTriggers(redis, profiles);
  return { address: redis, org, profiles, ...elsewhere };
};

test("a verification asked for where no worker is waits for one, is joined and shown, and reports", async () => {
  const { address, profiles, triggers } = await aMirror();
  const { runId, joined } = await verify(triggers);
  expect([joined, await verify(triggers)]).toEqual([false, { runId, joined: true }]);
  expect(await triggers.active()).toMatchObject([{ runId, state: "queued", profile: "default" }]);
  const worker = await aWorker(address, profiles);
  // Nothing is mirrored yet.
  const ended = await reached(triggers, runId);
  expect(ended).toMatchObject({ state: "failed", error: { code: "SNAPSHOT_MISSING" } });
  expect(await worker.triggers.find(runId)).toEqual(ended);
  await synced(triggers, { streams: ["accounts"] });
  const second = await verify(triggers);
  expect(second).toMatchObject({ joined: false });
  expect(await reached(triggers, second.runId)).toMatchObject({ state: "done", report: { run_id: second.runId } });
  expect(await triggers.active()).toEqual([]);
});

test("one that found something wrong is partial, also once Redis has forgotten it; which fields differ is kept, no value", async () => {
  const { address, org, profiles, triggers, queues, redis } = await aMirror();
  await aWorker(address, profiles);
  await synced(triggers, { streams: ["accounts"] });
  for (const account of org.service.data.accounts) account.name = "Zebulon of Redis";
  const { runId } = await verify(triggers);
  const found = { stream: "accounts", kind: "field", field: "name", mirror: null, api: null };
  expect(await reached(triggers, runId)).toMatchObject({
    state: "partial",
    error: { code: "VERIFY_DIFFERS" },
    report: { differences: expect.arrayContaining([expect.objectContaining(found)]) },
  });
  const kept = JSON.stringify(await redis.hgetall(`{duckmirror}:${queues.verify.name}:${runId}`));
  expect(kept).toContain('\\"field\\":\\"name\\"');
  expect(kept).not.toContain("Zebulon");
  await queues.verify.obliterate({ force: true });
  expect(await findStored(profiles, runId)).toMatchObject({ state: "partial" });
});

test("when its worker stops, another one runs it from the start, under an id of its own in the mirror", async () => {
  const { address, org, profiles, triggers, queues } = await aMirror();
  const first = await aWorker(address, profiles);
  await synced(triggers, { streams: ["accounts"] });
  const release = org.hold();
  const { runId } = await verify(triggers);
  await reached(triggers, runId, ["running"]);
  const stopping = first.stop();
  release();
  await stopping;
  expect((await triggers.find(runId))?.state).toBe("running");
  await aWorker(address, profiles);
  expect(await reached(triggers, runId)).toMatchObject({ state: "done", report: { run_id: `${runId}-2` } });
  // Also when Redis has forgotten it.
  await queues.verify.obliterate({ force: true });
  expect(await findStored(profiles, runId)).toMatchObject({ runId, state: "done" });
});

test("however often its worker stops, all its runs together cost what one may cost", async () => {
  const { address, org, profiles, triggers } = await aMirror();
  const first = await aWorker(address, profiles);
  expect(await synced(triggers)).toMatchObject({ state: "done" });
  await first.stop();
  const creditsBefore = org.service.spent();
  const { runId } = await verify(triggers);
  for (let run = 0; run < 3; run += 1) {
    const asked = org.service.log.length;
    const worker = await aWorker(address, profiles);
    await expect.poll(() => org.service.log.length, { timeout: 120_000, interval: 1 }).toBeGreaterThan(asked + 2);
    await worker.stop();
  }
  await aWorker(address, profiles);
  const { report } = await reached(triggers, runId);
  const cost = org.service.spent() - creditsBefore;
  expect(cost).toBeLessThanOrEqual(VERIFY_CREDITS);
  expect(report).toMatchObject({ credits: { spent: cost } });
});

test("a cancelled one that waits never starts, and the next request is for another one", async () => {
  const { address, profiles, triggers } = await aMirror();
  const { runId } = await verify(triggers);
  expect(await triggers.cancel(runId)).toBe(true);
  expect(await triggers.find(runId)).toMatchObject({ state: "cancelled", error: { code: "INTERRUPTED" } });
  expect(await triggers.active()).toEqual([]);
  expect(await triggers.cancel(runId)).toBe(false);
  const next = await verify(triggers);
  expect(next.joined).toBe(false);
  await aWorker(address, profiles);
  expect(await reached(triggers, runId)).toMatchObject({ state: "cancelled", error: { code: "INTERRUPTED" } });
  expect((await reached(triggers, next.runId)).state).toBe("failed");
  expect(await triggers.cancel(runId)).toBe(false);
});

test("one that loses every worker ends as lost, and can be asked for again", async () => {
  const { address, triggers, queues } = await aMirror();
  const connection = new Redis(address.url, { maxRetriesPerRequest: null });
  const times = { lockDuration: 300, stalledInterval: 150, skipLockRenewal: true, maxStalledCount: 2, concurrency: 9 };
  // It takes the job again and again, and never ends it.
  const worker = new Worker("verify", () => new Promise<void>(() => undefined), {
    connection,
    prefix: "{duckmirror}",
    ...times,
  });
  worker.on("error", () => undefined);
  afterTest(async () => {
    await worker.close(true);
    connection.disconnect();
  });
  const { runId } = await verify(triggers);
  expect(await reached(triggers, runId)).toMatchObject({ state: "failed", error: { code: "VERIFY_LOST" } });
  expect(await deadLetters(queues)).toMatchObject([{ id: runId, problem: { code: "VERIFY_LOST" } }]);
  expect(await verify(triggers)).toMatchObject({ joined: false });
  expect(await queues.verify.getFailedCount()).toBe(1);
});
