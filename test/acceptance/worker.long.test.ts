// The worker as a process: asked by trigger and over HTTP, with Redis and without, and stopped while it is busy.

import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { forFile } from "../support/for-file.ts";
import { startRedis } from "../support/redis.ts";
import { aSandbox, type Env, runBuilt, startServing, triggerWell, WORKER, workerEnv } from "./built-cli.ts";
import { differences } from "./compare.ts";
import { readService } from "./service-reader.ts";
import { tempFolder } from "./temp-folder.ts";

const sandbox = await aSandbox({ seed: 41, accounts: 6 });
const redis = await forFile(startRedis());
afterEach(() => sandbox.intercept(undefined));

/** A worker that is ready, and the environment of those that ask it. */
const startWorker = async (env: Env) => {
  const worker = await startServing(WORKER, env);
  return { ...worker, asking: { ...env, DUCKMIRROR_LISTEN: new URL(worker.url).host } };
};

const startedSchema = z.object({ run_id: z.string(), joined: z.boolean() });

describe.each([
  { how: "without Redis", extra: (): Env => ({}) },
  { how: "with Redis", extra: (): Env => ({ REDIS_URL: redis.url }) },
])("a worker $how", ({ extra }) => {
  test("syncs when it is asked, gives the same report and exit code as sync, and shows it", async () => {
    const env = workerEnv(sandbox, extra());
    const worker = await startWorker(env);
    const report = await triggerWell(worker.asking);
    expect(report.mode).toBe("full");
    expect(await differences(report.warehouse, await readService(sandbox))).toEqual([]);

    const headers = { "content-type": "application/json", "idempotency-key": "k1" };
    const ask = () => fetch(`${worker.url}/api/syncs`, { method: "POST", headers, body: '{"streams":["accounts"]}' });
    const [first, second] = [await ask(), await ask()];
    expect([first.status, second.status]).toEqual([202, 202]);
    const ids = [startedSchema.parse(await first.json()), startedSchema.parse(await second.json())];
    expect(ids[0]?.run_id).toBe(ids[1]?.run_id);
    expect((await fetch(`${worker.url}/readyz`)).status).toBe(200);

    const jobs = await runBuilt(["jobs", "--json"], worker.asking);
    expect(jobs.code, jobs.err).toBe(0);
    expect(JSON.parse(jobs.out)).toMatchObject({ failed: [] });
    const status = await runBuilt(["status", "--json"], env);
    const { runs } = z.object({ runs: z.array(z.object({ run_id: z.string() })) }).parse(JSON.parse(status.out));
    expect(runs.map(({ run_id }) => run_id)).toContain(report.run_id);
    await worker.stop();
  });
});

test("with require_key, commands on this machine find the key that the worker made", async () => {
  const worker = await startWorker(workerEnv(sandbox, { DUCKMIRROR_REQUIRE_KEY: "yes" }));
  expect((await fetch(`${worker.url}/api/profiles`)).status).toBe(401);
  await triggerWell(worker.asking, ["accounts"]);
  expect((await runBuilt(["jobs", "--json"], worker.asking)).code).toBe(0);
  const elsewhere = { ...worker.asking, DUCKMIRROR_DATA_DIR: tempFolder() };
  expect((await runBuilt(["jobs", "--json"], elsewhere)).code).toBe(3);
  await worker.stop();
});

test("SIGTERM ends a busy worker within ten seconds; the next one ends its sync, and nothing is fetched twice", async () => {
  const env = workerEnv(sandbox, { REDIS_URL: redis.url });
  const paid: string[] = [];
  let isBusy = () => {};
  const busy = new Promise<void>((resolve) => {
    isBusy = resolve;
  });
  sandbox.intercept(async (request, next) => {
    const answer = await next();
    if (answer.status === 200) paid.push(`${request.path}?${JSON.stringify(request.query)}`);
    if (paid.length === 8) isBusy();
    return answer;
  });
  const first = await startWorker(env);
  const waiting = triggerWell(first.asking);
  await busy;
  expect((await first.stop()).ms).toBeLessThan(10_000);
  const second = await startWorker(env);
  const report = await waiting;
  sandbox.intercept(undefined);
  // Every paid answer was taken in, and none was asked for again but the head of a list whose walk was resumed.
  expect(report.credits.spent).toBe(paid.length);
  const pages = paid.filter((url) => !url.includes("/usage"));
  const heads = [...new Set(pages)].filter((url) => /^\/v1\/(accounts|contacts|signals)\?/.test(url)).length;
  expect(pages.length - new Set(pages).size).toBeLessThanOrEqual(heads);
  expect(await differences(report.warehouse, await readService(sandbox))).toEqual([]);
  await second.stop();
});

test("asking for what does not exist, or where no worker runs, says so", async () => {
  const env = workerEnv(sandbox, { REDIS_URL: redis.url });
  const [unknown, gone] = [
    await runBuilt(["trigger", "acounts", "--json"], env),
    await runBuilt(["jobs", "--cancel", "20200101T000000Z-nobody"], env),
  ];
  expect([unknown.code, unknown.out]).toEqual([2, expect.stringContaining("USAGE")]);
  expect([gone.code, gone.err]).toEqual([2, expect.stringContaining("RUN_UNKNOWN")]);
  const { code, err } = await runBuilt(["trigger"], workerEnv(sandbox, { DUCKMIRROR_LISTEN: "127.0.0.1:1" }));
  expect([code, err]).toEqual([5, expect.stringContaining("WORKER_UNREACHABLE")]);
  const away = await runBuilt(["trigger"], workerEnv(sandbox, { REDIS_URL: "redis://127.0.0.1:1" }));
  expect([away.code, away.err]).toEqual([5, expect.stringContaining("REDIS_UNAVAILABLE")]);
});
