// Every process of a deployment is restarted while a sync runs: each ends within ten seconds, nothing is lost, nothing is
// paid for twice, and a client that waits for the sync gets its report.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { syncReportSchema } from "../../src/core/report/sync-report.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { type BuiltRun, runBuilt, startBuilt, syncEnv } from "../acceptance/built-cli.ts";
import { differences } from "../acceptance/compare.ts";
import { type ApiTables, readService } from "../acceptance/service-reader.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { logRequests, type ServiceLog } from "./service-log.ts";

const WORLD = { seed: 62, accounts: 24, now: Date.UTC(2026, 10, 20), threads: 1 } as const;
const STOP_MS = 10_000;

let sandbox: Sandbox;
let service: ApiTables;
let redis: TestRedis;
let log: ServiceLog;

beforeAll(async () => {
  const twin = await startSandbox({ ...WORLD, plan: "enterprise" });
  service = await readService(twin).finally(() => twin.close());
  sandbox = await startSandbox({ ...WORLD, plan: "enterprise", maxPerPage: 50, latencyMs: 30 });
  log = logRequests(sandbox);
  redis = await startRedis();
});
afterAll(async () => {
  await sandbox.close();
  await redis.kill();
});

/** SIGTERM; answers with how long it took to end, ms. */
const terminate = async ({ child, ended }: BuiltRun): Promise<number> => {
  const askedAt = Date.now();
  child.kill("SIGTERM");
  const { code, err } = await ended;
  expect(code, err).toBe(0);
  return Date.now() - askedAt;
};

test("a rolling restart of fetchers and loader loses and repeats nothing", async () => {
  const dataDir = tempFolder();
  const env = {
    ...syncEnv(sandbox, dataDir),
    REDIS_URL: redis.url,
    DUCKMIRROR_RATE_LIMIT: "400",
    DUCKMIRROR_SCHEDULE: "off",
    DUCKMIRROR_EXPORT_FORMATS: "none",
  };
  const start = (role: string) =>
    startBuilt(["worker", "--role", role, ...(role === "load" ? ["--listen", "127.0.0.1:0"] : [])], env);
  let fetchers = [start("fetch"), start("fetch"), start("fetch")];
  let loader = start("load");
  const asked = runBuilt(["trigger", "--wait", "--json", "--timeout", "3m"], env);
  const tooSoon = asked.then(({ err }) => Promise.reject(new Error(`the sync ended before its restarts: ${err}`)));
  tooSoon.catch(() => undefined);
  const goneOn = () => Promise.race([log.afterRequests(8), tooSoon]);
  const took: number[] = [];
  for (let index = 0; index < fetchers.length; index += 1) {
    await goneOn();
    const [oldest, ...rest] = fetchers;
    if (oldest !== undefined) took.push(await terminate(oldest));
    fetchers = [...rest, start("fetch")];
  }
  await goneOn();
  took.push(await terminate(loader));
  loader = start("load");
  const { code, out, err } = await asked;
  expect(code, `${err}\n${loader.err()}`).toBe(0);
  expect(syncReportSchema.parse(JSON.parse(out)).status).toBe("done");
  for (const each of [...fetchers, loader]) took.push(await terminate(each));
  for (const ms of took) expect(ms).toBeLessThan(STOP_MS);

  const snapshot = join(dataDir, "warehouse.duckdb");
  expect(await differences(snapshot, service)).toEqual([]);
  const { rows } = await runQuery({
    snapshot,
    sql: "SELECT count(*) FILTER (charge = 'spent'), count(*) FILTER (charge = 'ambiguous') FROM sync.requests",
  });
  const paid = log.paid();
  expect(rows).toEqual([[paid.length, 0]]);
  // A walk that was interrupted looks at its head again and overlaps with what it has; nothing else is asked for twice.
  const urls = paid.filter((url) => !url.startsWith("/v1/usage"));
  expect(urls.length - new Set(urls).size).toBeLessThanOrEqual(6);
}, 240_000);
