// Three fetchers and a loader as processes of their own, and Redis between them: any of them is killed at random, and
// the mirror is the source in the end, paid for once, never faster than allowed.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { syncReportSchema } from "../../src/core/report/sync-report.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { type BuiltRun, startBuilt, syncEnv } from "../acceptance/built-cli.ts";
import { differences } from "../acceptance/compare.ts";
import { type ApiTables, readService } from "../acceptance/service-reader.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { type Ended, readOutput } from "../support/child-output.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { seededRandom } from "../support/sync-rig.ts";
import { logRequests, type ServiceLog } from "./service-log.ts";

const KILLS = Number(process.env.DUCKMIRROR_ROLE_KILLS ?? 3);
const SEED = Number(process.env.DUCKMIRROR_ROLE_SEED ?? 20_261_121);
/** Enough that the first mirror lasts longer than the kills. */
const ACCOUNTS = Math.max(24, 2 * KILLS);
const FETCHERS = 3;
const PAGE = 50;
const CONCURRENCY = 8;
const PER_MINUTE = 1_500;
const LOADER = fileURLToPath(new URL("./role-loader.mjs", import.meta.url));

const WORLD = { seed: 61, accounts: ACCOUNTS, now: Date.UTC(2026, 10, 20), threads: 1 } as const;

let sandbox: Sandbox;
/** What the mirror must hold; read from a twin, so that reading it uses up nothing of the rate. */
let service: ApiTables;
let log: ServiceLog;

beforeAll(async () => {
  const twin = await startSandbox({ ...WORLD, plan: "enterprise" });
  service = await readService(twin).finally(() => twin.close());
  const plan = { plan: "enterprise", maxPerPage: PAGE, latencyMs: 20 } as const;
  sandbox = await startSandbox({ ...WORLD, ...plan, requestsPerMinute: PER_MINUTE });
  log = logRequests(sandbox);
}, 240_000);
afterAll(() => sandbox.close());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Loader {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

const children = new Set<ChildProcess>();
afterAll(() => children.forEach((child) => void child.kill("SIGKILL")));

const startLoader = (env: Readonly<Record<string, string>>, ...flags: readonly string[]): Loader => {
  const build = dirname(dirname(dirname(inject("builtCli"))));
  const child = spawn(process.execPath, [LOADER, build, ...flags], { env: { PATH: process.env.PATH, ...env } });
  children.add(child);
  const { ended } = readOutput(child);
  return { child, ended: ended.finally(() => children.delete(child)) };
};

const startFetcher = (env: Readonly<Record<string, string>>): BuiltRun =>
  startBuilt(["worker", "--role", "fetch"], env);

/** Credits that a mirror of the whole service costs at least, the usage routes aside. */
const fewestCredits = (service: ApiTables): number => {
  const pages = (rows: number) => Math.max(1, Math.ceil(rows / PAGE));
  const rowsOf = (table: string) => [...(service[table]?.keys() ?? [])];
  const lists = ["accounts", "contacts", "signals"].map((table) => pages(rowsOf(table).length));
  const perCompany = ["news_articles", "job_openings", "earnings_calls", "filings"].flatMap((table) => {
    const companies = rowsOf(table).map((key) => key.split("/")[0]);
    return rowsOf("companies").map((id) => pages(companies.filter((company) => company === id).length));
  });
  return [...lists, ...perCompany].reduce((sum, count) => sum + count, 0) + 1 + rowsOf("account_insights").length;
};

/** Most requests within any `windowMs`. */
const mostWithin = (arrivals: readonly number[], windowMs: number): number => {
  let from = 0;
  let most = 0;
  for (const [index, at] of arrivals.entries()) {
    while ((arrivals[from] ?? at) <= at - windowMs) from += 1;
    most = Math.max(most, index - from + 1);
  }
  return most;
};

const isUsage = (url: string) => url.startsWith("/v1/usage");

test(`${KILLS} kills of fetchers, loader and Redis lose no row and waste no credit (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const dataDir = tempFolder();
  const redisDir = join(tempFolder(), "redis");
  mkdirSync(redisDir);
  const redis: TestRedis = await startRedis({ appendonlyDir: redisDir });
  const env = {
    ...syncEnv(sandbox, dataDir),
    REDIS_URL: redis.url,
    DUCKMIRROR_CONCURRENCY: `${CONCURRENCY}`,
    DUCKMIRROR_RATE_LIMIT: `${PER_MINUTE}`,
  };
  const fetchers = Array.from({ length: FETCHERS }, () => startFetcher(env));
  let loader = startLoader(env);
  const story: string[] = [];
  const startedAt = Date.now();
  let loaderKills = 0;
  let runs = 1;

  const killRandom = async () => {
    const victim = Math.floor(random() * (FETCHERS + 2));
    if (victim < FETCHERS) {
      story.push(`fetcher ${victim}`);
      await fetchers[victim]?.kill();
      fetchers[victim] = startFetcher(env);
    } else if (victim === FETCHERS) {
      story.push("loader");
      loader.child.kill("SIGKILL");
      await loader.ended;
      loaderKills += 1;
      loader = startLoader(env);
    } else {
      const empty = random() < 0.5;
      story.push(empty ? "Redis, empty afterwards" : "Redis");
      await redis.kill();
      if (empty) rmSync(redisDir, { recursive: true });
      mkdirSync(redisDir, { recursive: true });
      await redis.restart();
    }
  };

  try {
    while (story.length < KILLS) {
      const reached = await Promise.race([
        log.afterRequests(1 + Math.floor(random() * 12)).then(() => true),
        loader.ended.then(() => false),
      ]);
      if (!reached) {
        // All is mirrored already: every list once more.
        const { code, err } = await loader.ended;
        expect(code, `${story.join(", ")}\n${err}`).toBe(0);
        runs += 1;
        loader = startLoader(env, "--full");
        continue;
      }
      await pause(random() * 60);
      await killRandom();
    }
    const { code, out, err } = await loader.ended;
    expect(code, `${story.join(", ")}\n${err}`).toBe(0);
    expect(syncReportSchema.parse(JSON.parse(out)).status, `${story.join(", ")}\n${out}\n${err}`).toBe("done");
  } finally {
    await Promise.all(fetchers.map((fetcher) => fetcher.kill()));
    loader.child.kill("SIGKILL");
    await redis.kill();
  }

  const mine = [...log.served];
  expect(mine.filter(({ status }) => status === 429)).toEqual([]);
  const arrivals = mine.map(({ at }) => at);
  const perMs = PER_MINUTE / 60_000;
  // A request leaves within a quarter of a second of its slot.
  for (const windowMs of [2_000, 10_000, 60_000]) {
    expect(mostWithin(arrivals, windowMs)).toBeLessThanOrEqual(Math.ceil((windowMs + 500) * perMs) + 1);
  }
  const paid = mine.filter(({ status, url }) => status === 200 && !isUsage(url));
  const snapshot = join(dataDir, "warehouse.duckdb");
  expect(await differences(snapshot, service)).toEqual([]);
  // What was paid for twice was in flight at a kill; a walk that goes on looks at its head and overlaps with what it has.
  const again = paid.length - new Set(paid.map(({ url }) => url)).size;
  const figures = `${story.join(", ")}: ${paid.length} paid, ${again} of them again, ${Date.now() - startedAt} ms`;
  if (process.env.DUCKMIRROR_ROLE_KILLS !== undefined) process.stdout.write(`${figures}\n`);
  expect(again, figures).toBeLessThanOrEqual((KILLS * CONCURRENCY + 2 * 3 * loaderKills) * runs);
  const fewest = fewestCredits(service);
  expect(paid.length, figures).toBeLessThanOrEqual((fewest + 2 * 3 * loaderKills) * runs + KILLS * CONCURRENCY);
}, 900_000);
