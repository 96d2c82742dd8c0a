// Mirrors with a home move between three workers while workers, Redis and the bucket are killed at random requests.
// KILLS=50 for more, SEED=n to repeat. The bucket is the benchmarks' own, on disk. Shows P33.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { systemClock } from "../../src/core/clock.ts";
import { mirrorHome, readLocalNote } from "../../src/deliver/home/mirror-home.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { enterDataDir } from "../../src/warehouse/file/working-file.ts";
import { type BuiltRun, runBuilt, startBuilt, syncEnv } from "../acceptance/built-cli.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { mortal, startCounting } from "../destinations/counting-server.ts";
import { createTally } from "../destinations/killed-delivery.ts";
import { AWS_ENV, stubAws } from "../destinations/places.ts";
import { afterTest } from "../support/after-test.ts";
import { seededRandom } from "../support/chance.ts";
import { anOrganization } from "../support/fake-data.ts";
import { startFakeServer } from "../support/fake-server.ts";
import { createFakeService } from "../support/fake-service.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { startRedis } from "../support/redis.ts";

const KILLS = Number(process.env.KILLS ?? "3");
const SEED = Number(process.env.SEED ?? "453895");
const WORKERS = 3;
const MIRRORS = 6;
const MAX_SYNCS = 2;
const TABLES = ["main.accounts", "main.contacts", "main.signals"] as const;
const BUCKET = fileURLToPath(new URL("../../bench/bucket-process.ts", import.meta.url));

/** The bucket's process behind a server that counts its requests. */
const startKillable = async () => {
  const folder = tempFolder();
  const launch = async () => {
    const child = spawn(process.execPath, ["--import", "tsx", BUCKET, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const kill = mortal(child);
    const [line] = await once(child.stdout, "data");
    return { kill, port: Number(new URL(String(line).trim()).port) };
  };
  let running = await launch();
  const counting = await startCounting({ port: () => running.port, partsBeforeKey: 1, busy: "" });
  return Object.assign(counting, {
    kill: () => running.kill(),
    restart: async () => {
      running = await launch();
    },
    stop: async () => {
      counting.close();
      await running.kill();
    },
  });
};
type Bucket = Awaited<ReturnType<typeof startKillable>>;

/** A mirror's service, and where its home is. `onRequest` is called with each request. */
const aMirror = async (name: string, bucket: Bucket, onRequest: () => void) => {
  const service = createFakeService(anOrganization(12), {
    maxPerPage: 5,
    before: () => {
      onRequest();
      return undefined;
    },
  });
  const server = await startFakeServer(service);
  afterTest(() => server.close());
  const home = `s3://homes/${name}?region=us-east-1&path_style=true&endpoint=${encodeURIComponent(bucket.endpoint)}`;
  const own = { url: server.url, token: "test-token" };
  return {
    name,
    service,
    home,
    /** What a worker that never had a home mirrors now. */
    afresh: async () => {
      const dataDir = tempFolder();
      const paid = service.spent();
      const run = await runBuilt(["sync", "accounts", "contacts", "signals", "--quiet"], {
        ...syncEnv(own, dataDir),
        DUCKMIRROR_RATE_LIMIT: "100000",
      });
      expect(run.code, run.err).toBe(0);
      return { dump: await dumpMirror(dataDir), credits: service.spent() - paid };
    },
    setting: `  ${name}: { base_url: "${server.url}", token: test-token, home: "${home}" }`,
  };
};

/** A data directory that goes on from the home. */
const fetched = async ({ home: url, name }: { readonly home: string; readonly name: string }) => {
  const dataDir = join(tempFolder(), name);
  const azure = { account: null, connectionString: null, key: null, sasToken: null };
  const lock = await enterDataDir(dataDir);
  await mirrorHome({ url, dataDir, azure, clock: systemClock })
    .follow()
    .finally(() => lock.release());
  return dataDir;
};

const spentRow = z.object({ spent: z.number() });
/** Credits in the mirror's own ledger. */
const ledgerOf = async (dataDir: string): Promise<number> => {
  const database = await openDatabase(join(dataDir, "state/working.duckdb"), { readOnly: true, threads: 1 });
  try {
    const sql = "SELECT count(*)::INTEGER AS spent FROM sync.requests WHERE charge = 'spent'";
    return (await database.query(sql, [], spentRow))[0]?.spent ?? 0;
  } finally {
    await database.close();
  }
};

const withoutTimes = (rows: readonly string[] = []) =>
  rows.map((row) => row.replace(/"_(first_synced_at|synced_at|run_id)":"[^"]*",?/g, "")).sort();

const askedSchema = z.object({ syncs: z.array(z.object({ profile: z.string(), run_id: z.string() })) });

/** Three workers with a disk each, which know all mirrors. */
const aFleet = (settings: (disk: string) => string) => {
  const folder = tempFolder();
  const disks = Array.from({ length: WORKERS }, (_, nth) => join(folder, `disk-${nth}`));
  const workers: { readonly run: BuiltRun; readonly url: string }[] = [];
  const said: string[] = [];
  const start = async (nth: number): Promise<void> => {
    const file = join(folder, `worker-${nth}.yaml`);
    writeFileSync(file, settings(disks[nth] ?? ""));
    const argv = ["worker", "--config", file, "--listen", "127.0.0.1:0", "--json"];
    const run = startBuilt(argv, AWS_ENV, folder);
    await expect.poll(() => run.out(), { timeout: 60_000, interval: 20 }).toContain("\n");
    workers[nth] = { run, url: z.object({ url: z.string() }).parse(JSON.parse(run.out())).url };
  };
  const post = async (url: string): Promise<ReadonlyMap<string, string>> => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/api/syncs`, { method: "POST", headers, body: '{"all_profiles":true}' });
    if (answer.status !== 202) throw new Error(`${answer.status} ${await answer.text()}`);
    return new Map(askedSchema.parse(await answer.json()).syncs.map(({ profile, run_id }) => [profile, run_id]));
  };
  return {
    start,
    /** SIGKILL at once; resolves when it runs again. */
    replace: async (nth: number, withDisk: boolean): Promise<void> => {
      const { run } = workers[nth] ?? {};
      await run?.kill();
      said.push(run?.err() ?? "");
      if (withDisk) rmSync(disks[nth] ?? "", { recursive: true, force: true });
      await start(nth);
    },
    /** Asks a worker for a sync of each mirror; null: it or Redis is away. */
    ask: (nth: number) => post(workers[nth]?.url ?? "").catch(() => null),
    /** Asks for a sync of each mirror; resolves to their states when all have ended. */
    settle: async (): Promise<readonly string[]> => {
      const url = workers[0]?.url ?? "";
      // The last kill may have been of Redis: a worker refuses requests until it is connected again.
      const ids = await vi.waitFor(() => post(url), { timeout: 60_000, interval: 500 });
      const states = () =>
        Promise.all(
          [...ids.values()].map(async (id) => {
            const answer = await fetch(`${url}/api/syncs/${id}`);
            return z.object({ state: z.string() }).parse(await answer.json()).state;
          }),
        );
      const isOver = async () => (await states()).every((state) => state !== "queued" && state !== "running");
      await expect.poll(isOver, { timeout: 240_000, interval: 500 }).toBe(true);
      return states();
    },
    said: () => [...said, ...workers.map(({ run }) => run.err())].join("\n"),
    stop: () => Promise.all(workers.map(({ run }) => run.kill())),
  };
};

/** Resolves at the `nth` request from now on. */
const createRequests = () => {
  let left = 0;
  let due: () => void = () => undefined;
  return {
    seen: (): void => {
      left -= 1;
      if (left === 0) due();
    },
    nth: (count: number): Promise<void> =>
      new Promise((resolve) => {
        left = count;
        due = resolve;
      }),
  };
};

test(`after ${KILLS} kills of workers, Redis and the bucket (seed ${SEED}) each mirror equals its source`, async () => {
  stubAws();
  afterTest(() => vi.unstubAllEnvs());
  const random = seededRandom(SEED);
  const below = (most: number) => Math.floor(random() * most);
  const requests = createRequests();
  const bucket = await startKillable();
  afterTest(() => bucket.stop());
  bucket.rule = () => {
    requests.seen();
    return "pass";
  };
  const appendonlyDir = tempFolder();
  mkdirSync(appendonlyDir, { recursive: true });
  const redis = await startRedis({ appendonlyDir });
  afterTest(() => redis.discard());
  const mirrors = await Promise.all(
    Array.from({ length: MIRRORS }, (_, nth) => aMirror(`p${nth}`, bucket, requests.seen)),
  );
  const fleet = aFleet((disk) =>
    [
      "streams: [accounts, contacts, signals]",
      ...["rate_limit: 100000", "schedule: off", "export_formats: none", `max_syncs: ${MAX_SYNCS}`],
      ...[`redis_url: ${redis.url}`, `data_dir: ${disk}`, "profiles:"],
      ...mirrors.map(({ setting }) => setting),
    ].join("\n"),
  );
  afterTest(() => fleet.stop());
  for (let nth = 0; nth < WORKERS; nth += 1) await fleet.start(nth);

  const asking = setInterval(() => void fleet.ask(below(WORKERS)), 250);
  afterTest(() => clearInterval(asking));
  const tally = createTally();
  /** Syncs that a kill may have ended. */
  let atRisk = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    for (const { service } of mirrors) {
      const account = service.data.accounts[kill % service.data.accounts.length];
      if (account !== undefined) Object.assign(account, { mainScore: kill, updatedAt: new Date().toISOString() });
    }
    await requests.nth(1 + below(25));
    const chance = random();
    if (chance < 0.6) {
      const withDisk = random() < 0.3;
      tally.add(withDisk ? "worker and its disk" : "worker");
      atRisk += MAX_SYNCS;
      await fleet.replace(below(WORKERS), withDisk);
    } else {
      const [name, victim] = chance < 0.8 ? (["Redis", redis] as const) : (["bucket", bucket] as const);
      tally.add(name);
      atRisk += MIRRORS;
      await victim.kill();
      await victim.restart();
    }
  }
  clearInterval(asking);

  // The first syncs end what the kills left. A job that a killed worker left may begin meanwhile and take a mirror from the
  // next ones; nobody kills those, so they end well within a few.
  await fleet.settle();
  let ends: readonly string[] = [];
  for (let tries = 0; tries < 4 && ends.join() !== mirrors.map(() => "done").join(); tries += 1)
    ends = await fleet.settle();
  expect(ends, fleet.said()).toEqual(mirrors.map(() => "done"));

  const figures = { moves: 0, spent: 0, paidTwice: 0, dearest: 0 };
  for (const mirror of mirrors) {
    const dataDir = await fetched(mirror);
    const spent = mirror.service.spent();
    const booked = await ledgerOf(dataDir);
    const { dump: own, credits } = await mirror.afresh();
    const moved = await dumpMirror(dataDir);
    for (const table of TABLES) expect(withoutTimes(moved[table])).toEqual(withoutTimes(own[table]));
    figures.moves += ((await readLocalNote(dataDir))?.fence ?? 1) - 1;
    figures.spent += spent;
    figures.paidTwice += spent - booked;
    figures.dearest = Math.max(figures.dearest, credits);
  }
  process.stdout.write(`seed ${SEED}\n${tally.text()}\n${JSON.stringify({ ...figures, atRisk })}\n`);
  expect(figures.paidTwice).toBeGreaterThanOrEqual(0);
  // A kill loses at most the syncs that were under way, of which none costs more than a first one.
  expect(figures.paidTwice).toBeLessThanOrEqual(atRisk * figures.dearest);
  expect(figures.moves).toBeGreaterThan(0);
}, 1_200_000);
