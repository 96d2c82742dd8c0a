// A verification asked for over HTTP outlives the worker that was asked: after kill -9 another one runs it.
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { startBuilt, syncEnv, syncWell } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

let sandbox: Sandbox;
let redis: TestRedis;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 41, accounts: 4, plan: "enterprise", threads: 1 });
  redis = await startRedis();
});
afterAll(async () => {
  await sandbox.close();
  await redis.kill();
});

const runSchema = z.object({ run_id: z.string(), state: z.string(), report: z.unknown() });

test("it ends with one report, although its worker is killed while it runs", async () => {
  const dataDir = tempFolder();
  const env = { ...syncEnv(sandbox, dataDir), REDIS_URL: redis.url, DUCKMIRROR_SCHEDULE: "off" };
  await syncWell(sandbox, dataDir);
  const aWorker = async () => {
    const worker = startBuilt(["worker", "--listen", "127.0.0.1:0", "--json", "--quiet"], env);
    await expect.poll(() => worker.out()).toContain("\n");
    const { url } = z.object({ url: z.string() }).parse(JSON.parse(worker.out()));
    return { ...worker, url };
  };
  const asked = await aWorker();
  let arrived = () => {};
  const arrives = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  sandbox.intercept(async (_, next) => {
    arrived();
    await new Promise<void>((resolve) => asked.child.once("close", () => resolve()));
    return next();
  });
  const answer = await fetch(`${asked.url}/api/verifications`, { method: "POST" });
  const { run_id: runId } = z.object({ run_id: z.string() }).parse(await answer.json());
  await arrives;
  await asked.kill();
  sandbox.intercept(undefined);
  const other = await aWorker();
  const run = async () => runSchema.parse(await (await fetch(`${other.url}/api/syncs/${runId}`)).json());
  expect(await run()).toMatchObject({ run_id: runId, state: "running" });
  await expect.poll(async () => (await run()).state, { timeout: 120_000, interval: 250 }).toBe("done");
  expect((await run()).report).toMatchObject({ run_id: `${runId}-2`, differences: [] });
});
