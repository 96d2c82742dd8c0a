// Workers with a Redis of their own and a fake service, in one process; everything is gone after the test.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { vi } from "vitest";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import type { Config } from "../../../src/core/config/config.ts";
import type { ProgressEvent } from "../../../src/core/report/sync-progress.ts";
import type { RequestedSync, TriggerRequest } from "../../../src/core/report/triggers.ts";
import { createScrubber, type Scrubber, Secret } from "../../../src/core/secret.ts";
import { openCommandConnection } from "../../../src/queue/redis/queue-connections.ts";
import { closeQueues, openQueues } from "../../../src/queue/redis/queues.ts";
import { WRITTEN } from "../../../src/queue/requests/job-payloads.ts";
import type { RunningWorker, Triggers } from "../../../src/queue/requests/sync-requests.ts";
import { createQueuedTriggers } from "../../../src/queue/syncs/redis/queued-triggers.ts";
import { type LocalWorkerDeps, startLocalWorker } from "../../../src/queue/worker/local-worker.ts";
import type { WorkerDeps } from "../../../src/queue/worker/open-worker.ts";
import { startWorker } from "../../../src/queue/worker/redis-worker.ts";
import { engineRunner, engineVerifier } from "../../../src/queue/worker/run-engine.ts";
import { sharedAccess } from "../../../src/queue/worker/shared-access.ts";
import type { SyncResult } from "../../../src/sync/run/run-sync.ts";
import { createSeenMirrors } from "../../../src/warehouse/file/empty-mirror.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { afterTest } from "../../support/after-test.ts";
import { anOrganization } from "../../support/fake-data.ts";
import { startFakeServer } from "../../support/fake-server.ts";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import { configOf } from "../../support/given-config.ts";
import { copyMigratedMirror } from "../../support/migrated-mirror.ts";
import { type RedisOptions, startRedis, type TestRedis } from "../../support/redis.ts";
import { aReport } from "../../support/reports.ts";
import { anAsk } from "./requests/a-sync-request.ts";

export { anAsk };

export const aDataDir = async (): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-worker-"));
  // A run that a worker broke off may write its last line meanwhile.
  afterTest(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }));
  return dir;
};

export const aRedis = async (options: RedisOptions = {}): Promise<TestRedis> => {
  const redis = await startRedis(options);
  afterTest(() => redis.discard());
  return redis;
};

/** What a test opens, at the latest when it ends. */
export const aGate = () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  afterTest(() => open());
  return { gate, open: () => open() };
};

/** A connection for what only the test does there. */
export const aClient = ({ url }: { readonly url: string }): Redis => {
  const client = new Redis(url, { maxRetriesPerRequest: null });
  afterTest(() => client.disconnect());
  return client;
};

export interface Organization {
  readonly service: FakeService;
  readonly dataDir: string;
  /** Its configuration; `redis`: the queue's. */
  config(redis: { readonly url: string } | null, env?: Record<string, string>): Config;
  /** From now on requests wait, those below `path`; answers with what lets them go. */
  hold(path?: string): () => void;
  /** Rows of a query on the published snapshot. */
  rows(sql: string): Promise<readonly (readonly unknown[])[]>;
}

/** An organization with a service of its own. */
export const anOrg = async (name = "default", accounts = 3): Promise<Organization> => {
  const service = createFakeService(anOrganization(accounts), { maxPerPage: 25, credits: 10_000 });
  const dataDir = await aDataDir();
  await copyMigratedMirror(dataDir);
  let held: Promise<void> = Promise.resolve();
  let below = "/";
  const { url, close } = await startFakeServer(service, async (path) => (path.startsWith(below) ? held : undefined));
  afterTest(close);
  return {
    service,
    dataDir,
    config: (redis, env = {}) => ({
      ...configOf(null, {
        DUCKMIRROR_BASE_URL: url,
        DUCKMIRROR_TOKEN: "test-token",
        DUCKMIRROR_DATA_DIR: dataDir,
        DUCKMIRROR_RATE_LIMIT: "100000",
        DUCKMIRROR_SCHEDULE: "off",
        DUCKMIRROR_EXPORT_FORMATS: "none",
        ...(redis === null ? {} : { REDIS_URL: redis.url }),
        ...env,
      }),
      profile: name,
    }),
    hold: (path = "/") => {
      below = path;
      const { gate, open } = aGate();
      held = gate;
      return open;
    },
    rows: async (sql) => (await runQuery({ snapshot: join(dataDir, "warehouse.duckdb"), sql })).rows,
  };
};

/** Organizations of these names with a Redis of their own, and the configuration with which workers and triggers are made. */
export const aFleet = async (env: Record<string, string> = {}, names: readonly string[] = ["default"]) => {
  const redis = await aRedis();
  const orgs = await Promise.all(names.map((name) => anOrg(name)));
  const [org] = orgs;
  if (org === undefined) throw new Error("a fleet has an organization");
  return { redis, org, orgs, profiles: orgs.map((one) => one.config(redis, env)) };
};

/** Such a fleet, with queues and triggers of a process that does no work; `address`: of its Redis, `redis`: a connection. */
export const anAskedFleet = async (env: Record<string, string> = {}, names?: readonly string[]) => {
  const { redis: address, ...fleet } = await aFleet(env, names);
  return { ...fleet, address, ...(await someTriggers(address, fleet.profiles)) };
};

export interface WorkerRig extends RunningWorker {
  readonly logged: string[];
  readonly events: { readonly event: ProgressEvent; readonly runId: string }[];
}

type OwnRun = Promise<SyncResult> | undefined;

interface WorkerChoice extends Partial<WorkerDeps> {
  /** Called when the engine starts, with the signal that ends it. What it answers with stands in for the engine's run. */
  readonly onRun?: (signal: AbortSignal, request: { readonly streams: readonly string[] }) => OwnRun;
}

/** Queues and triggers of a process that does no work. `connected` is called before they are opened. */
export const someTriggers = async (
  redis: { readonly url: string },
  profiles: readonly Config[],
  connected: (client: Redis) => Promise<void> = async () => undefined,
) => {
  const connection = await openCommandConnection(new Secret(redis.url), () => undefined);
  await connected(connection.redis);
  const queues = openQueues(connection.redis, () => undefined);
  const deps = { connection, queues, profiles, clock: systemClock, random: Math.random };
  const triggers = createQueuedTriggers(deps);
  afterTest(async () => {
    await closeQueues(queues);
    await connection.close();
  });
  return { queues, triggers, redis: connection.redis };
};

/** What the engine of a worker is made of, as the program makes it. */
const engineOf = (clock: Clock, scrubber: Scrubber, onRun: NonNullable<WorkerChoice["onRun"]>) => {
  const deps = { clock, random: Math.random, version: "0.0.0", scrubber, mirrors: createSeenMirrors() };
  return (connection?: Parameters<typeof sharedAccess>[0]) => {
    const engine = connection === undefined ? deps : { ...deps, connect: sharedAccess(connection) };
    const run = engineRunner(engine);
    const watched: typeof run = (profile, request, context) =>
      onRun(context.signal, request) ?? run(profile, request, context);
    return { run: watched, verify: engineVerifier(engine) };
  };
};

const IDENTITY = { role: "all", version: "0.0.0", host: "test-host", pid: 1 } as const;

/** A worker, with times short enough for tests. */
export const aWorker = async (
  redis: { readonly url: string },
  profiles: readonly Config[],
  { onRun = () => undefined, ...more }: WorkerChoice = {},
): Promise<WorkerRig> => {
  const logged: string[] = [];
  const events: WorkerRig["events"] = [];
  const clock = more.clock ?? systemClock;
  const scrubber = createScrubber();
  const engine = engineOf(clock, scrubber, onRun);
  const worker = await startWorker({
    redisUrl: new Secret(redis.url),
    profiles,
    identity: IDENTITY,
    clock,
    random: Math.random,
    scrubber,
    log: (level, text) => void logged.push(`${level} ${text}`),
    run: (connection) => engine(connection).run,
    verify: (connection) => engine(connection).verify,
    emit: (event, { runId }) => void events.push({ event, runId }),
    ...more,
    times: { lock: 1_000, stalledCheck: 500, cancelCheck: 50, scheduleCheck: 200, ...more.times },
  });
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= worker.stop();
    return stopped;
  };
  afterTest(stop);
  return { ...worker, stop, logged, events };
};

/** A worker without Redis. */
export const aLocalWorker = (
  profiles: readonly Config[],
  { onRun = () => undefined, ...more }: Partial<LocalWorkerDeps> & Pick<WorkerChoice, "onRun"> = {},
) => {
  const logged: string[] = [];
  const events: Pick<WorkerRig["events"][number], "event">[] = [];
  const { run, verify } = engineOf(systemClock, createScrubber(), onRun)();
  const worker = startLocalWorker({
    profiles,
    clock: systemClock,
    random: Math.random,
    log: (level, text) => void logged.push(`${level} ${text}`),
    run,
    verify,
    emit: (event) => void events.push({ event }),
    ...more,
  });
  afterTest(worker.stop);
  return { ...worker, logged, events };
};

/** Both kinds of worker. */
export const WAYS = ["without Redis", "with Redis"] as const;

/** An organization with a worker of that kind; `asking`: triggers of another process where there can be one. */
export const aWorkerOf = async (
  way: (typeof WAYS)[number],
  {
    env = {},
    accounts = 3,
    ...choice
  }: Pick<WorkerChoice, "onRun"> & { env?: Record<string, string>; accounts?: number } = {},
) => {
  const org = await anOrg("default", accounts);
  if (way === "without Redis") {
    const worker = aLocalWorker([org.config(null, env)], choice);
    return { org, worker, asking: worker.triggers, redis: null };
  }
  const address = await aRedis();
  const profiles = [org.config(address, env)];
  const worker = await aWorker(address, profiles, { ...choice, times: { heartbeat: 50, alertCheck: 200 } });
  const { triggers: asking, redis } = await someTriggers(address, profiles);
  return { org, worker, asking, redis };
};

/** An engine that only notes profile and streams of its runs; each ends when `gate` opens. */
export const aNotingEngine = (notes: string[], gate: Promise<void> = Promise.resolve()) => ({
  run:
    () =>
    async (config: Pick<Config, "profile">, { streams }: { readonly streams: readonly string[] }) => {
      notes.push([`${config.profile}:`, ...streams].join(" "));
      await gate;
      const result: SyncResult = { report: aReport({ streams }), error: null };
      return result;
    },
});

/** What a payload of the next version says of itself. */
export const NEWER = { v: WRITTEN.v + 1, since: WRITTEN.v + 1 };

/** The sync once it is in one of these states; by default once it has ended. */
export const reached = (
  triggers: Triggers,
  runId: string,
  states: readonly RequestedSync["state"][] = ["done", "partial", "stopped", "failed", "cancelled"],
): Promise<RequestedSync> =>
  vi.waitFor(
    async () => {
      const sync = await triggers.find(runId);
      if (sync === null || !states.includes(sync.state)) throw new Error(`${runId} is ${sync?.state ?? "unknown"}`);
      return sync;
    },
    { timeout: 120_000, interval: 25 },
  );

/** A sync that was asked for, once it has ended. */
export const synced = async (triggers: Triggers, more: Partial<TriggerRequest> = {}): Promise<RequestedSync> =>
  reached(triggers, (await triggers.start(anAsk(more))).runId);
