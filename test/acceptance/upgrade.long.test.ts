// A rolling upgrade: this build beside one whose syncs only it can read. Nothing fails, and a client that waits for
// a sync gets its report. Shows P38.
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, beforeEach, expect, inject, test } from "vitest";
import { syncReportSchema } from "../../src/core/report/sync-report.ts";
import { VERSION } from "../../src/queue/requests/job-payloads.ts";
import { forFile } from "../support/for-file.ts";
import { startRedis } from "../support/redis.ts";
import { aSandbox, type BuiltRun, startBuilt, WORKER, workerEnv } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

/** A build of the same sources, with payloads changed. */
const changedBuild = (change: (code: string) => string): string => {
  const folder = tempFolder();
  cpSync(join(dirname(inject("builtCli")), "../.."), folder, { recursive: true });
  symlinkSync(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
  const name = readdirSync(join(folder, "bundle")).find((file) => /^job-payloads-.*\.js$/.test(file));
  expect(name).toBeDefined();
  const path = join(folder, "bundle", name ?? "");
  writeFileSync(path, change(readFileSync(path, "utf8")));
  return join(folder, "src/cli/main.js");
};

/** A program of the next version, whose syncs only it can read. The build may have put the number in place of its name. */
const nextBuild = (): string =>
  changedBuild((code) => {
    const next = VERSION + 1;
    const own = `(?:VERSION|${VERSION})`;
    const changed = code
      .replace(
        new RegExp(`SYNC_WRITTEN = \\{\\s*v: ${own},\\s*since: ${VERSION}`),
        `SYNC_WRITTEN = { v: ${next}, since: ${next}`,
      )
      .replace(new RegExp(`since > ${own}`), `since > ${next}`);
    expect(changed).toMatch(new RegExp(`since: ${next}[^]*since > ${next}`));
    return changed;
  });

const sandbox = await aSandbox({ seed: 71, accounts: 4 });
const redis = await forFile(startRedis());
const client = new Redis(redis.url, { maxRetriesPerRequest: null });
// A fleet would else take up what the one before it left in the queues, for another directory.
beforeEach(() => client.flushall());
afterAll(() => client.disconnect());

const aFleet = () => {
  const env = workerEnv(sandbox, { REDIS_URL: redis.url, DUCKMIRROR_EXPORT_FORMATS: "parquet" });
  const start = (main: string, ...argv: readonly string[]) => startBuilt(argv, env, "/", main);
  return {
    worker: (main: string) => start(main, ...WORKER),
    trigger: (main: string, ...part: readonly string[]) => start(main, "trigger", ...part, "--wait", "--json"),
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
  const next = nextBuild();
  const { worker, trigger, deadLetters } = aFleet();
  const oldWorker = worker(old);
  await ended(trigger(old));
  const newer = trigger(next);
  await isLeft("sync");
  const newWorker = worker(next);
  await ended(newer);
  await ended(trigger(old, "--full"));
  await stopped(oldWorker);
  await ended(trigger(old));
  await stopped(newWorker);
  expect([await deadLetters(old), await deadLetters(next)]).toMatchObject([{ failed: [] }, { failed: [] }]);
});
