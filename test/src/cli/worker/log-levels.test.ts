// Levels of a worker's log: faults that it survives are warnings of one line each; an error needs a person.

import { expect, test } from "vitest";
import { z } from "zod";
import { startCli } from "../../../support/cli.ts";
import { aLocalWorker, anAsk, anOrg, aRedis, aWorker, reached, someTriggers } from "../../queue/worker-rig.ts";

const PATIENCE = { timeout: 60_000 };
const lineSchema = z.object({ level: z.number(), msg: z.string(), err: z.unknown().optional() });
const WARN = 40;
/** Words of ioredis and BullMQ, which tell an operator nothing. */
const INTERNAL = /enableOfflineQueue|Missing lock|could not renew lock/;

test("a worker that loses and finds Redis logs no error and no stack", async () => {
  const redis = await aRedis();
  const org = await anOrg();
  const config = org.config(redis);
  const env = {
    DUCKMIRROR_BASE_URL: config.baseUrl ?? "",
    DUCKMIRROR_TOKEN: "test-token",
    DUCKMIRROR_DATA_DIR: org.dataDir,
    DUCKMIRROR_RATE_LIMIT: "100000",
    DUCKMIRROR_SCHEDULE: "off",
    DUCKMIRROR_EXPORT_FORMATS: "none",
    DUCKMIRROR_LOG_FORMAT: "json",
    REDIS_URL: redis.url,
  };
  const { said, stop } = startCli(["worker", "--listen", "127.0.0.1:0"], { env });
  await expect.poll(() => said.err, PATIENCE).toContain("worker ready");
  const release = org.hold();
  const { triggers } = await someTriggers(redis, [config]);
  await triggers.start(anAsk({ streams: ["accounts"] }));
  await expect.poll(() => said.err, PATIENCE).toContain("sync started");
  await redis.restart();
  release();
  await expect.poll(() => said.err, PATIENCE).toMatch(/Redis at 127.0.0.1:\d+ does not answer: /);
  await expect.poll(() => said.err, PATIENCE).toMatch(/Redis at 127.0.0.1:\d+ answers again/);
  await expect.poll(() => said.err, PATIENCE).toContain("published");
  const { err } = await stop();
  const lines = err
    .trim()
    .split("\n")
    .map((line) => lineSchema.parse(JSON.parse(line)));
  expect(lines.filter(({ level, err: stack }) => level > WARN || stack !== undefined)).toEqual([]);
  expect(err).not.toMatch(INTERNAL);
});

test("a job that another worker has by now is a warning", async () => {
  const redis = await aRedis();
  const org = await anOrg();
  const signals: AbortSignal[] = [];
  const config = org.config(redis);
  const { logged, triggers } = await aWorker(redis, [config], { onRun: (signal) => void signals.push(signal) });
  const release = org.hold();
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  await expect.poll(() => signals.length, PATIENCE).toBe(1);
  redis.pause();
  // Longer than the rig's lock lasts: until the run has noticed.
  const frozen = performance.now();
  await expect.poll(() => performance.now() - frozen, PATIENCE).toBeGreaterThan(1_500);
  redis.resume();
  release();
  await reached(triggers, runId);
  expect(logged.filter((line) => line.startsWith("error"))).toEqual([]);
  expect(logged.filter((line) => line.includes("is not this worker's any more")).length).toBeGreaterThan(0);
  expect(logged.join("\n")).not.toMatch(INTERNAL);
});

test.each(["in one process", "on BullMQ"])("%s: one line says how a sync ended, with code and remedy", async (way) => {
  const org = await anOrg();
  org.service.options = {
    ...org.service.options,
    before: () => ({ status: 401, body: { error: { message: "refused" } } }),
  };
  const redis = way === "on BullMQ" ? await aRedis() : null;
  const { triggers, logged } = await (redis === null
    ? aLocalWorker([org.config(null)])
    : // A lock that a busy machine does not lose: a job that comes again ends twice.
      aWorker(redis, [org.config(redis)], { times: { lock: 30_000 } }));
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  await reached(triggers, runId);
  await expect
    .poll(() => logged.filter((line) => line.includes(`sync ${runId} of default: `)), PATIENCE)
    .toEqual([
      expect.stringMatching(/^error .*: failed, .*\. CREDENTIALS_REFUSED: .* Check that the token is current/),
    ]);
});
