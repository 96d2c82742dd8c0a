// Role fetch: takes requests of all organizations from the queue and sends them for their loaders. Keeps no state: if
// it dies, another fetcher takes its requests.

import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { type Job, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { RedisConnection } from "../../../budget/store/redis-connection.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import type { Fleet, MemberIdentity, UnableProfile } from "../../../core/report/fleet.ts";
import { createScrubber, type Scrubber, type Secret } from "../../../core/secret.ts";
import { noTracer, type Tracer } from "../../../core/tracing.ts";
import { enterFleet } from "../../fleet/fleet.ts";
import { openAsking, openWorking } from "../../redis/queue-connections.ts";
import { closeQueues, FETCH_QUEUE, openQueues, PREFIX } from "../../redis/queues.ts";
import * as names from "../names.ts";
import { createOrganizations } from "../organizations.ts";
import { createStoreClock, type StoreClock } from "../store-clock.ts";
import { type FetchTimes, TIMES } from "./fetch-times.ts";
import { createInFlight } from "./in-flight.ts";
import { createOutlets } from "./outlets.ts";
import { createTakeRequest } from "./take-request.ts";

export interface FetchRoleOptions {
  readonly redisUrl: Secret;
  /** Organizations that this worker may send for. */
  readonly profiles: readonly Config[];
  readonly tokenOf: (config: Config) => Promise<Secret>;
  /** Most requests in flight, hanging ones excluded. */
  readonly slots: number;
  /** How this process appears in the register of the fleet. */
  readonly identity: MemberIdentity;
  readonly clock: Clock;
  /** Called with a text when Redis or a single job fails. */
  readonly warn: (text: string) => void;
  readonly tracer?: Tracer;
  /** Profiles that it cannot send for now; unset: none. */
  readonly unable?: () => readonly UnableProfile[];
  /** Times in ms; the defaults are for production. */
  readonly times?: Partial<FetchTimes>;
}

export interface FetchRole {
  /** Whether Redis answers, and whether this process takes requests. */
  readiness(): Promise<{ readonly redis: boolean; readonly taking: boolean }>;
  /** Queues, members and pauses. Throws REDIS_UNAVAILABLE. */
  fleet(): Promise<Fleet>;
  /** Takes no more requests, lets those in flight end, aborts them after `graceMs`, and closes. */
  close(graceMs: number): Promise<void>;
}

/** Time in which aborted requests report that they were aborted. */
const HANDING_ON_MS = 1_500;

/** Takes as many jobs as there are places. */
const takeAsManyAs = (places: number, worker: Worker, isStopping: boolean, onError: (error: unknown) => void): void => {
  if (places === worker.concurrency) return;
  const wake = places > worker.concurrency;
  worker.concurrency = places;
  // A worker with all places taken waits until one of its jobs ends; resuming makes it check again.
  if (wake && !isStopping)
    void worker
      .pause(true)
      .then(() => worker.resume())
      .catch(onError);
};

const organizationsOf = (
  { profiles, tokenOf, identity, clock, slots }: FetchRoleOptions,
  connection: RedisConnection,
  storeClock: StoreClock,
  scrubber: Scrubber,
) =>
  createOrganizations({
    connection,
    profiles,
    tokenOf: async (config) => {
      const token = await tokenOf(config);
      scrubber.hide(token);
      return token;
    },
    version: identity.version,
    clock,
    storeClock,
    connections: slots,
  });

/** The worker of the queue of requests. */
const fetchWorker = (
  connection: Redis,
  concurrency: number,
  times: FetchTimes,
  take: (job: Job, token: string) => Promise<void>,
): Worker =>
  new Worker(FETCH_QUEUE, (job, token = "") => take(job, token), {
    connection,
    prefix: PREFIX,
    concurrency,
    lockDuration: times.lock,
    stalledInterval: times.stalledCheck,
    maxStalledCount: names.MOST_DEATHS,
    runRetryDelay: names.RETRY_MS,
    ...names.PASSING_WORKER,
  });

/** Ends the worker's requests, by force after `graceMs`. */
const endRequests = async (
  worker: Worker,
  graceMs: number,
  breaking: AbortController,
  clock: FetchRoleOptions["clock"],
): Promise<void> => {
  const patience = setTimeout(() => breaking.abort(), graceMs);
  const forced = new AbortController();
  const force = clock.sleep(graceMs + HANDING_ON_MS, forced.signal).catch(() => undefined);
  await Promise.race([worker.close(), force]);
  forced.abort();
  clearTimeout(patience);
};

/** Starts the role. Throws REDIS_UNAVAILABLE, REDIS_TOO_OLD, REDIS_EVICTS, REDIS_REPLICA. */
export const startFetcher = async (options: FetchRoleOptions): Promise<FetchRole> => {
  const { redisUrl, slots, identity, clock, warn, tracer = noTracer, unable } = options;
  const times = { ...TIMES, ...options.times };
  const asking = await openAsking(redisUrl, warn);
  const onError = (error: unknown) => warn(asking.detail(error));
  const working = openWorking(redisUrl, onError);
  const storeClock = createStoreClock(clock);
  const scrubber = createScrubber();
  const organizations = organizationsOf(options, asking, storeClock, scrubber);
  const owner = randomUUID();
  const [stopping, breaking] = [new AbortController(), new AbortController()];
  // Every request in flight listens.
  setMaxListeners(0, stopping.signal, breaking.signal);
  const outlets = createOutlets(asking, onError);
  const adjust = () => takeAsManyAs(inFlight.places(), worker, stopping.signal.aborted, onError);
  const inFlight = createInFlight({ slots, owner, hangingMs: times.hanging, onChange: adjust, warn });
  const ends = { signal: stopping.signal, hardSignal: breaking.signal };
  const taking = { organizations, outlets, inFlight, clock, storeClock, owner, tracer, times, scrubber, warn, onError };
  const worker = fetchWorker(working.redis, slots, times, createTakeRequest({ ...taking, ...ends }));
  worker.on("error", onError);

  const listed = openQueues(asking.redis, onError);
  const membership = { clock, identity, id: owner, inFlight: inFlight.count, unable, onError };
  const fleet = enterFleet(asking, listed, membership);
  /** Its answer needs no patience, because a probe asks again. */
  const answers = () => asking.redis.ping().then(Boolean, () => false);

  return {
    readiness: async () => {
      const redis = (await answers()) && working.redis.status === "ready";
      return { redis, taking: redis && worker.isRunning() && !stopping.signal.aborted };
    },
    fleet: fleet.read,
    close: async (graceMs) => {
      stopping.abort();
      await endRequests(worker, graceMs, breaking, clock);
      inFlight.close();
      breaking.abort();
      working.end();
      await fleet.leave();
      await Promise.allSettled([closeQueues(listed), outlets.close()]);
      await organizations.close();
      await asking.close();
    },
  };
};
