// A rolling upgrade: this build beside one whose asks and requests only it can read, both ways round. Nothing fails, and
// a client that waits for a sync gets its report.
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { syncReportSchema } from "../../src/core/report/sync-report.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { type BuiltRun, startBuilt, syncEnv } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

let sandbox: Sandbox;
let redis: TestRedis;
let client: Redis;
let next: string;

/** A build of the same sources with the next payload version. */
const nextBuild = (): string => {
  const folder = tempFolder();
  cpSync(join(dirname(inject("builtCli")), "../.."), folder, { recursive: true });
  symlinkSync(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
  const path = join(folder, "src/queue/payloads.js");
  const code = readFileSync(path, "utf8");
  const version = Number(/const VERSION = (\d+);/.exec(code)?.[1]) + 1;
  const bumped = code
    .replace(/const VERSION = \d+;/, `const VERSION = ${version};`)
    .replace(
      /const SINCE = \{ ask: \d+, (.*), request: \d+,/,
      `const SINCE = { ask: ${version}, $1, request: ${version},`,
    );
  expect(bumped).toContain(`const SINCE = { ask: ${version},`);
  writeFileSync(path, bumped);
  return join(folder, "src/cli/main.js");
};

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 71, accounts: 4, plan: "enterprise", maxPerPage: 50, threads: 1 });
  redis = await startRedis();
  client = new Redis(redis.url, { maxRetriesPerRequest: null });
  next = nextBuild();
});
// A fleet would else take up what the one before it left in the queues, for another directory.
beforeEach(() => client.flushall());
afterAll(async () => {
  client.disconnect();
  await sandbox.close();
  await redis.kill();
});

const aFleet = () => {
  const env = {
    ...syncEnv(sandbox, tempFolder()),
    REDIS_URL: redis.url,
    DUCKMIRROR_RATE_LIMIT: "100000",
    DUCKMIRROR_SCHEDULE: "off",
    DUCKMIRROR_EXPORT_FORMATS: "parquet",
  };
  const start = (main: string, ...argv: readonly string[]) => startBuilt(argv, env, "/", main);
  return {
    worker: (main: string, role: string) =>
      start(main, "worker", "--role", role, ...(role === "fetch" ? [] : ["--listen", "127.0.0.1:0"])),
    trigger: (main: string) => start(main, "trigger", "--wait", "--json"),
    deadLetters: async (main: string) => JSON.parse((await start(main, "jobs", "--failed", "--json").ended).out),
  };
};

const ended = async ({ ended: end }: BuiltRun) => {
  const { code, out, err } = await end;
  expect(code, err).toBe(0);
  expect(syncReportSchema.parse(JSON.parse(out)).status).toBe("done");
};

const stopped = async ({ child, ended: end }: BuiltRun) => {
  child.kill("SIGTERM");
  const { code, err } = await end;
  expect(code, err).toBe(0);
};

/** Some job of the queue was taken and left more than once. */
const isLeft = async (name: string) => {
  const queue = new Queue(name, { connection: client, prefix: "{duckmirror}", skipMetasUpdate: true });
  await expect
    .poll(async () => (await queue.getDelayed()).some(({ attemptsStarted }) => attemptsStarted > 1), { interval: 100 })
    .toBe(true);
  await queue.close();
};

test("old and new workers share one mirror: each leaves what it cannot read, and every trigger gets its report", async () => {
  const old = inject("builtCli");
  const { worker, trigger, deadLetters } = aFleet();
  const oldWorker = worker(old, "all");
  const newer = trigger(next);
  await isLeft("sync");
  await ended(trigger(old));
  const newWorker = worker(next, "all");
  await ended(newer);
  await stopped(oldWorker);
  await ended(trigger(old));
  await ended(trigger(next));
  await stopped(newWorker);
  expect([await deadLetters(old), await deadLetters(next)]).toMatchObject([{ failed: [] }, { failed: [] }]);
});

test("fetchers leave the requests of a newer loader to newer fetchers, and serve an older one", async () => {
  const old = inject("builtCli");
  const { worker, trigger, deadLetters } = aFleet();
  const oldFetcher = worker(old, "fetch");
  const newLoader = worker(next, "load");
  const newer = trigger(next);
  await isLeft("fetch");
  const newFetcher = worker(next, "fetch");
  await ended(newer);
  await stopped(newLoader);
  await stopped(oldFetcher);
  const oldLoader = worker(old, "load");
  await ended(trigger(old));
  for (const each of [oldLoader, newFetcher]) await stopped(each);
  expect(await deadLetters(next)).toMatchObject({ failed: [] });
});
