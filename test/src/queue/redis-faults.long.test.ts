// Redis goes away, forgets, fills up or falters: DuckDB holds the truth, and the next sync is complete.
// Redis with a user of its own for duckmirror, with the rights that docs/WORKER.md gives it and no others.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { syncReportSchema } from "../../../src/core/report/sync-report.ts";
import type { SyncResult } from "../../../src/sync/run/run-sync.ts";
import { documentedUser } from "../../support/documented-user.ts";
import { aReport } from "../../support/reports.ts";
import {
  aClient,
  aDataDir,
  aFleet,
  anAsk,
  anAskedFleet,
  anOrg,
  aRedis,
  aWorker,
  type Organization,
  reached,
  someTriggers,
  synced,
  type WorkerRig,
} from "./worker-rig.ts";

const COUNT = "SELECT (SELECT count(*) FROM accounts)::INTEGER, (SELECT count(*) FROM signals)::INTEGER";

/** Asks until Redis takes it, and waits for the end. */
const nextSync = async ({ triggers }: WorkerRig) => {
  const { runId } = await vi.waitFor(() => triggers.start(anAsk()), { timeout: 120_000, interval: 100 });
  return vi.waitFor(() => reached(triggers, runId), { timeout: 120_000, interval: 100 });
};

const isComplete = async (org: Organization, worker: WorkerRig) => {
  const sync = await nextSync(worker);
  expect(sync.state, JSON.stringify(sync.error)).toBe("done");
  expect(await org.rows(COUNT)).toEqual([[3, 18]]);
};

/** A sync under way, whose requests wait. */
const underWay = async (redis: { readonly url: string }, times: { readonly stop?: number } = {}) => {
  const org = await anOrg();
  const signals: AbortSignal[] = [];
  const worker = await aWorker(redis, [org.config(redis)], { onRun: (signal) => void signals.push(signal), times });
  const release = org.hold();
  await worker.triggers.start(anAsk());
  await expect.poll(() => signals.length, { timeout: 120_000 }).toBe(1);
  return { org, worker, release };
};

test("the connection is lost and comes back, with everything Redis held", async () => {
  const redis = await aRedis({ appendonlyDir: await aDataDir() });
  const { org, worker, release } = await underWay(redis);
  await redis.kill();
  release();
  await redis.restart();
  await isComplete(org, worker);
});

test("a run that Redis broke off is no end of its sync: it goes on under the same id when Redis is back", async () => {
  const redis = await aRedis({ appendonlyDir: await aDataDir() });
  const org = await anOrg();
  let runs = 0;
  const broken = async (streams: readonly string[]): Promise<SyncResult> => {
    const error = new DuckmirrorError("REDIS_UNAVAILABLE", { address: "x", detail: "connect ECONNREFUSED" });
    await redis.kill();
    // As after a minute of patience: the run fails before Redis is back, or after it.
    if (runs === 2) await redis.restart();
    return { report: aReport({ run_id: `broken-${runs}`, status: "failed", streams }, "stopped"), error };
  };
  const worker = await aWorker(redis, [org.config(redis)], {
    onRun: (_, { streams }) => {
      runs += 1;
      return runs > 2 ? undefined : broken(streams);
    },
  });
  const { runId } = await worker.triggers.start(anAsk());
  await expect.poll(() => runs, { timeout: 30_000 }).toBe(1);
  await redis.restart();
  const sync = await vi.waitFor(() => reached(worker.triggers, runId), { timeout: 60_000, interval: 100 });
  expect(sync).toMatchObject({ state: "done", error: null, report: { run_id: runId, status: "done" } });
  expect(runs).toBe(3);
  expect(await org.rows(COUNT)).toEqual([[3, 18]]);
});

test("Redis restarts with an empty memory", async () => {
  const redis = await aRedis();
  const { org, worker, release } = await underWay(redis);
  await redis.restart();
  release();
  await isComplete(org, worker);
});

test("what is wanted is exported after the sync, and a sync that Redis forgot is found in its mirror", async () => {
  const { address, org, profiles, queues, redis } = await anAskedFleet({ DUCKMIRROR_EXPORT_FORMATS: "parquet" });
  const { triggers } = await aWorker(address, profiles);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  const before = await reached(triggers, runId);
  await expect.poll(() => existsSync(join(org.dataDir, "export", "_manifest.json")), { timeout: 120_000 }).toBe(true);
  await expect.poll(() => queues.export.getCompletedCount(), { timeout: 120_000 }).toBe(1);
  await redis.flushall();
  const after = await triggers.find(runId);
  expect(after).toMatchObject({ state: "done", runId, error: null });
  expect(syncReportSchema.parse(after?.report).streams).toEqual(syncReportSchema.parse(before.report).streams);
  expect(await triggers.find("20200101T000000Z-nobody")).toBeNull();
});

test("slow replies: Redis is frozen for longer than a lock lasts", async () => {
  const redis = await aRedis();
  const { org, worker, release } = await underWay(redis);
  redis.pause();
  await systemClock.sleep(1_500);
  redis.resume();
  release();
  await isComplete(org, worker);
});

test("Redis is full: asking says so, and the next sync after there is room is complete", async () => {
  const { redis, org, profiles } = await aFleet();
  const worker = await aWorker(redis, profiles);
  const admin = aClient(redis);
  await admin.config("SET", "maxmemory", "1");
  await expect(worker.triggers.start(anAsk())).rejects.toMatchObject({ code: "REDIS_FULL" });
  await admin.config("SET", "maxmemory", "0");
  await isComplete(org, worker);
});

test("a worker does not start on a Redis that is full, or that may evict", async () => {
  const { redis, profiles } = await aFleet();
  const admin = aClient(redis);
  await admin.config("SET", "maxmemory", "1");
  await expect(aWorker(redis, profiles)).rejects.toMatchObject({ code: "REDIS_FULL", exitCode: 5 });
  await admin.config("SET", "maxmemory", "20mb");
  await admin.config("SET", "maxmemory-policy", "allkeys-lru");
  await expect(aWorker(redis, profiles)).rejects.toMatchObject({ code: "REDIS_EVICTS", exitCode: 2 });
});

test("a Redis that is set to evict while the worker runs is complained about", async () => {
  const { redis, profiles } = await aFleet();
  const { logged } = await aWorker(redis, profiles);
  const admin = aClient(redis);
  await admin.config("SET", "maxmemory-policy", "allkeys-lru");
  const complaints = () => logged.filter((line) => line.includes("its maxmemory-policy is allkeys-lru"));
  await expect.poll(complaints, { timeout: 30_000 }).toHaveLength(1);
});

test("a Redis that becomes a replica while the worker runs is named, and so is its return", async () => {
  const { redis, org, profiles } = await aFleet();
  const worker = await aWorker(redis, profiles);
  const admin = aClient(redis);
  await admin.replicaof("127.0.0.1", 1);
  const told = () => worker.logged.filter((line) => line.includes("REDIS_REPLICA: Redis at 127.0.0.1"));
  await expect.poll(told, { timeout: 30_000 }).toHaveLength(1);
  expect(worker.logged.join("\n")).not.toMatch(/READONLY|instance state changed/);
  await admin.replicaof("NO", "ONE");
  await isComplete(org, worker);
});

test("a worker stops in time while Redis is away", async () => {
  const redis = await aRedis();
  const { worker, release } = await underWay(redis, { stop: 2_000 });
  await redis.kill();
  release();
  const startedAt = performance.now();
  await worker.stop();
  expect(performance.now() - startedAt).toBeLessThan(4_000);
});

const PASSWORD = "a-password-of-its-own";
/** A Redis that nobody enters without a password, and the address with the user of the documents. */
const guarded = async () => {
  const redis = await aRedis({ password: "the-administrator's" });
  const admin = aClient(redis);
  await admin.acl("SETUSER", ...documentedUser(PASSWORD));
  return { url: `redis://duckmirror:${PASSWORD}@127.0.0.1:${redis.port}`, admin };
};

test("a worker and its triggers work with the rights of the documents", async () => {
  const redis = await guarded();
  const org = await anOrg();
  const profiles = [org.config(redis, { DUCKMIRROR_SCHEDULE: "0 0 1 1 *" })];
  const { triggers } = await someTriggers(redis, profiles);
  const { logged } = await aWorker(redis, profiles);
  expect((await synced(triggers)).state).toBe("done");
  expect([...logged, ...JSON.stringify(await redis.admin.acl("LOG"))].join("")).not.toMatch(/NOPERM|"command"/);
});

test("the user reaches no other key and changes no setting", async () => {
  const redis = await guarded();
  const user = aClient(redis);
  await expect(user.get("somebody's")).rejects.toThrow(/NOPERM/);
  await expect(user.config("SET", "maxmemory-policy", "allkeys-lru")).rejects.toThrow(/NOPERM/);
  await expect(user.acl("LIST")).rejects.toThrow(/NOPERM/);
});
