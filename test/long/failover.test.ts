// Redis as operators run it: Sentinel promotes the replica in the middle of a sync, a user of its own with a password, and
// clocks that are wrong by a day. Each trigger ends well, and the mirror is the source. Shows P36.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { syncReportSchema } from "../../src/core/report/sync-report.ts";
import { startSandbox } from "../../src/sandbox/sandbox.ts";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { type BuiltRun, runBuilt, startBuilt, syncEnv } from "../acceptance/built-cli.ts";
import { differences } from "../acceptance/compare.ts";
import { readService } from "../acceptance/service-reader.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { documentedUser } from "../support/documented-user.ts";
import { forFile } from "../support/for-file.ts";
import { startRedis } from "../support/redis.ts";
import { startPromoted } from "./promoted-redis.ts";
import { logRequests } from "./service-log.ts";

const WORLD = { seed: 63, accounts: 8, now: Date.UTC(2026, 10, 20), threads: 1, plan: "enterprise" } as const;
const DAY_MS = 86_400_000;
const SHIFT = fileURLToPath(new URL("./shifted-clock.mjs", import.meta.url));

const sandbox = await forFile(startSandbox({ ...WORLD, maxPerPage: 50, latencyMs: 40, requestsPerMinute: 1_000_000 }));
const service = await readService(sandbox);
const log = logRequests(sandbox);

type Env = Readonly<Record<string, string>>;
const envOf = (redisUrl: string, dataDir: string): Env => ({
  ...syncEnv(sandbox, dataDir),
  REDIS_URL: redisUrl,
  DUCKMIRROR_RATE_LIMIT: "100000",
  DUCKMIRROR_SCHEDULE: "off",
  DUCKMIRROR_EXPORT_FORMATS: "none",
});
const startWorker = (env: Env): BuiltRun => startBuilt(["worker", "--listen", "127.0.0.1:0"], env);
const trigger = (env: Env, ...flags: readonly string[]) =>
  runBuilt(["trigger", "--wait", "--json", "--timeout", "4m", ...flags], env);

const endsWell = async (asked: ReturnType<typeof trigger>, dataDir: string, workers: readonly BuiltRun[]) => {
  const { code, out, err } = await asked;
  expect(code, `${err}\n${workers.map((worker) => worker.err()).join("\n")}`).toBe(0);
  expect(syncReportSchema.parse(JSON.parse(out)).status).toBe("done");
  const snapshot = join(dataDir, "warehouse.duckdb");
  expect(await differences(snapshot, service)).toEqual([]);
  return snapshot;
};

test("Sentinel promotes the replica during a sync of two workers, which have a user of their own", async () => {
  const redis = await startPromoted();
  await redis.onBoth("ACL", "SETUSER", ...documentedUser("secret"));
  const dataDir = tempFolder();
  const env = envOf(`redis://duckmirror:secret@${redis.host}`, dataDir);
  const workers = [startWorker(env), startWorker(env)];
  try {
    const underWay = log.afterRequests(6);
    const asked = trigger(env);
    await underWay;
    await redis.failOver();
    await endsWell(asked, dataDir, workers);
    // And the promoted one serves the next.
    await endsWell(trigger(env, "--full"), dataDir, workers);
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await redis.end();
  }
}, 300_000);

const CLOCKS: readonly (readonly [what: string, clocks: readonly number[]])[] = [
  ["a worker a day ahead", [DAY_MS]],
  ["a worker a day behind", [-DAY_MS]],
  ["two workers, a day ahead and a day behind", [DAY_MS, -DAY_MS]],
];

test.each(CLOCKS)(
  "%s of Redis",
  async (_, clocks) => {
    const redis = await startRedis();
    const dataDir = tempFolder();
    const env = envOf(redis.url, dataDir);
    const workers = clocks.map((shiftMs) =>
      startWorker({ ...env, NODE_OPTIONS: `--import ${SHIFT}`, SHIFT_MS: `${shiftMs}` }),
    );
    try {
      const snapshot = await endsWell(trigger(env), dataDir, workers);
      const asked = trigger(env, "--full");
      const second = trigger(env, "accounts");
      await endsWell(asked, dataDir, workers);
      expect((await second).code).toBe(0);
      const sql = "SELECT count(*)::INTEGER FROM sync.requests WHERE charge = 'ambiguous'";
      expect((await runQuery({ snapshot, sql })).rows).toEqual([[0]]);
    } finally {
      await Promise.all(workers.map((worker) => worker.kill()));
      await redis.kill();
    }
  },
  300_000,
);
