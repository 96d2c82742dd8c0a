// A soak: ten organizations that change, a worker with Redis that syncs all of them on a schedule, processes and Redis killed
// now and then. Memory, open files, keys of Redis and files on disk must not grow with the number of syncs, and each
// mirror is its service at the end. Shows P41.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { expect, test, vi } from "vitest";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { aSandbox, type BuiltRun, runBuilt, startBuilt, WORKER } from "../acceptance/built-cli.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { trackedDifferences } from "../acceptance/tracked.ts";
import { afterTest } from "../support/after-test.ts";
import { seededRandom } from "../support/chance.ts";
import { openFilesOf } from "../support/open-files.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

/** Two hours are `SOAK_MINUTES=120`. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 0.3);
const ORGANIZATIONS = Number(process.env.SOAK_ORGANIZATIONS ?? (MINUTES < 10 ? 2 : 10));
/** Time between two syncs of an organization; between two samples. */
const PERIOD_S = MINUTES < 10 ? 5 : 60;
const SEED = Number(process.env.SOAK_SEED ?? 20_261_123);
const CHANGES = 3;
/** Killed after a period, one in this many. */
const KILLS_ONE_IN = 8;
/** Samples of one process from which on its growth is judged: the first ones load code and open files. */
const JUDGED = 20;
/** What finished jobs may leave in Redis until they are a day old, and a sync in its archive. */
const KEYS_A_SYNC = 20;
const BYTES_A_SYNC = 100_000;
const FILES_A_SYNC = 6;
/** Connections of a worker to one service: never more than `concurrency`. */
const MOST_CONNECTIONS = 32;
const MIB = 1024 * 1024;
/** The last one is never killed, so that one process lives as long as the soak. */
const WORKERS = 2;

interface Sample {
  readonly rss: number;
  /** Connections to Redis. */
  readonly toRedis: number;
  /** Connections to the service that has most of them. */
  readonly toService: number;
  /** Open files that are no connections. */
  readonly others: number;
}
interface Shared {
  readonly syncs: number;
  readonly keys: number;
  readonly redisBytes: number;
  readonly files: number;
  readonly bytes: number;
}

const names = Array.from({ length: ORGANIZATIONS }, (_, index) => `p${index}`);
const sandboxes = await Promise.all(names.map((_, index) => aSandbox({ seed: 500 + index, accounts: 10 })));

/** Of a process that lives; null for one that has just ended. */
const sampleOf = ({ child: { pid = 0 } }: BuiltRun, redis: TestRedis): Sample | null => {
  try {
    const rss = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
    const { to, others } = openFilesOf(pid);
    const toServices = sandboxes.map(({ url }) => to.get(Number(new URL(url).port)) ?? 0);
    return { rss, toRedis: to.get(redis.port) ?? 0, toService: Math.max(...toServices), others };
  } catch {
    return null;
  }
};

const filesOf = (dir: string): { readonly files: number; readonly bytes: number } => {
  const sizes = readdirSync(dir, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile()) return [];
    const found = statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false });
    return found === undefined ? [] : [found.size];
  });
  return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
};

const snapshotOf = (dir: string, name: string): string => join(dir, "mirrors", name, "warehouse.duckdb");

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** Median of the last quarter beside that of the second quarter. */
const growth = (values: readonly number[]): number => {
  const quarter = values.length >> 2;
  return median(values.slice(-quarter)) / median(values.slice(quarter, 2 * quarter));
};

/**
 * Fewest of the last quarter beside the fewest of the first or second quarter, whichever are more: Redis is away in some
 * samples. What is left open stays open, so it raises the fewest; on a busy machine more syncs are under way at once, which
 * raises the others.
 */
const fewestGrowth = (values: readonly number[]): number => {
  const quarter = values.length >> 2;
  const fewest = (nth: number) => Math.min(...values.slice(nth * quarter, (nth + 1) * quarter));
  return Math.min(...values.slice(-quarter)) / Math.max(fewest(0), fewest(1));
};

const runsOf = async (snapshot: string): Promise<number> => {
  const { rows } = await runQuery({ snapshot, sql: "SELECT count(*)::INTEGER FROM sync.runs WHERE status = 'done'" });
  return Number(rows[0]?.[0]);
};
const runsOfAll = (dir: string): Promise<readonly number[]> =>
  Promise.all(names.map((name) => runsOf(snapshotOf(dir, name))));

/** The latest runs of a mirror, and how they ended. */
const lastRuns = async (snapshot: string): Promise<string> => {
  const sql = "SELECT run_id, status, finished_at, error FROM sync.runs ORDER BY started_at DESC LIMIT 4";
  return (await runQuery({ snapshot, sql })).rows.map((row) => row.join(" ")).join("; ");
};

/** Organizations without a further finished sync. */
const waitingFor = async (dir: string, before: readonly number[]): Promise<readonly string[]> => {
  const now = await runsOfAll(dir);
  return names.filter((_, index) => (now[index] ?? 0) <= (before[index] ?? 0));
};

const aWorld = async () => {
  const dir = tempFolder();
  const redisDir = join(tempFolder(), "redis");
  for (const folder of [dir, redisDir]) mkdirSync(folder, { recursive: true });
  const redis = await startRedis({ appendonlyDir: redisDir });
  afterTest(() => redis.kill());
  const schedule = PERIOD_S === 60 ? "* * * * *" : `*/${PERIOD_S} * * * * *`;
  const settings = [
    `schedule: "${schedule}"`,
    "rate_limit: 100000",
    "export_formats: none",
    // Runs are counted in the snapshot, also those that found nothing new.
    "publish_unchanged_every: 0s",
    "max_syncs: 4",
    `redis_url: ${redis.url}`,
    `data_dir: ${join(dir, "mirrors")}`,
    "profiles:",
    ...sandboxes.map(({ url, token }, index) => `  ${names[index]}: { base_url: "${url}", token: "${token}" }`),
  ];
  writeFileSync(join(dir, "duckmirror.yaml"), settings.join("\n"));
  return { dir, redis };
};

const readShared = async (redis: TestRedis, dir: string): Promise<Shared> => {
  const client = new Redis(redis.url);
  const [keys, memory] = await Promise.all([client.dbsize(), client.info("memory")]).finally(() => client.disconnect());
  const runs = await runsOfAll(dir);
  return {
    syncs: runs.reduce((sum, count) => sum + count, 0),
    keys,
    redisBytes: Number(/^used_memory:(\d+)/m.exec(memory)?.[1]),
    ...filesOf(join(dir, "mirrors")),
  };
};

test(
  `${MINUTES} minutes of ${ORGANIZATIONS} organizations: nothing grows with the number of syncs (seed ${SEED})`,
  async () => {
    const random = seededRandom(SEED);
    const { dir, redis } = await aWorld();
    const start = (): BuiltRun => startBuilt([...WORKER, "--quiet"], {}, dir);
    const fleet = Array.from({ length: WORKERS }, start);
    /** Starts again, as a service manager does, what ended because Redis was away when it started. */
    const tend = (): void => {
      for (const [nth, ended] of fleet.entries()) {
        if (ended.child.exitCode === null) continue;
        expect(ended.child.exitCode, `a worker ended by itself: ${ended.err()}`).toBe(5);
        fleet[nth] = start();
      }
    };
    /** The scheduled sync of each organization is the event that is awaited; a killed one is made up by the next. */
    const nextSyncs = async (): Promise<void> => {
      const before = await runsOfAll(dir);
      let late: readonly string[] = names;
      const all = async (): Promise<void> => {
        tend();
        late = await waitingFor(dir, before);
        expect(late).toEqual([]);
      };
      await vi.waitFor(all, { timeout: 300_000, interval: 1_000 }).catch(async (error: unknown) => {
        const runs = await Promise.all(late.map(async (name) => `${name}: ${await lastRuns(snapshotOf(dir, name))}`));
        const queues = await runBuilt(["jobs", "--json"], {}, dir);
        const known = [`no sync of ${late} after ${killed}`, ...runs, queues.out, ...fleet.map(({ err }) => err())];
        throw new Error(known.join("\n"), { cause: error });
      });
    };
    /** Samples of each process that ever ran, in order. */
    const lives = new Map<BuiltRun, Sample[]>();
    const shared: Shared[] = [];
    const killed: string[] = [];
    const trigger = (name: string, ...how: readonly string[]) =>
      runBuilt(["trigger", "--profile", name, ...how, "--wait", "--json", "--timeout", "5m"], {}, dir);

    const kill = async (): Promise<void> => {
      const nth = Math.floor(random() * WORKERS);
      // The last one lives on; Redis, with its memory, is killed in its place.
      if (nth === WORKERS - 1) {
        await redis.restart();
        killed.push("Redis");
        return;
      }
      await fleet[nth]?.kill();
      fleet[nth] = start();
      killed.push("a worker");
    };

    const first = await Promise.all(names.map((name) => trigger(name)));
    expect(first.map(({ code, err }) => (code === 0 ? "" : err))).toEqual(names.map(() => ""));
    for (const endsAt = Date.now() + MINUTES * 60_000; Date.now() < endsAt || shared.length < 6; ) {
      for (const sandbox of sandboxes) await sandbox.evolve(CHANGES);
      await nextSyncs();
      for (const process of fleet) {
        const sample = sampleOf(process, redis);
        if (sample !== null) lives.set(process, [...(lives.get(process) ?? []), sample]);
      }
      shared.push(await readShared(redis, dir));
      if (random() < 1 / KILLS_ONE_IN) await kill();
    }
    await Promise.all(sandboxes.map((sandbox) => sandbox.evolve(CHANGES)));
    const last = await Promise.all(names.map((name) => trigger(name, "--full")));
    expect(last.map(({ code, err }) => (code === 0 ? "" : err))).toEqual(names.map(() => ""));
    await Promise.all(fleet.map((each) => each.kill()));

    const [early, late] = [shared[0], shared.at(-1)];
    const processes = [...lives.values()].map((samples) => ({
      samples: samples.length,
      rssMiB: samples.map(({ rss }) => Math.round(rss / MIB)),
      toRedis: samples.map(({ toRedis }) => toRedis),
      toService: samples.map(({ toService }) => toService),
      others: samples.map(({ others }) => others),
    }));
    process.stdout.write(`${JSON.stringify({ minutes: MINUTES, killed, shared, processes })}\n`);
    for (const [index, sandbox] of sandboxes.entries())
      expect(await trackedDifferences(snapshotOf(dir, `p${index}`), sandbox)).toEqual([]);
    if (early === undefined || late === undefined) throw new Error("no sample");
    const syncs = late.syncs - early.syncs;
    expect((late.keys - early.keys) / syncs, "keys of Redis a sync, kept for a day").toBeLessThan(KEYS_A_SYNC);
    expect((late.redisBytes - early.redisBytes) / syncs, "bytes of Redis a sync").toBeLessThan(BYTES_A_SYNC);
    expect((late.files - early.files) / syncs, "files a sync, kept for 90 days").toBeLessThan(FILES_A_SYNC);
    for (const { samples, rssMiB, toRedis, toService, others } of processes) {
      expect(Math.max(...toService), `connections to one service: ${toService}`).toBeLessThanOrEqual(MOST_CONNECTIONS);
      if (samples < JUDGED) continue;
      expect(growth(rssMiB), `memory of a process in ${samples} samples: ${rssMiB}`).toBeLessThan(1.25);
      expect(fewestGrowth(toRedis), `its connections to Redis: ${toRedis}`).toBeLessThan(1.25);
      expect(fewestGrowth(others), `its other open files: ${others}`).toBeLessThan(1.25);
    }
  },
  (MINUTES + 20) * 60_000,
);
