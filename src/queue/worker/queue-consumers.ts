// Starts the consumers of a worker with Redis: one per queue (syncs, exports, deliveries, alerts, verifications, schedules), with its
// concurrency and the function that runs its jobs.
import type { Worker } from "bullmq";
import type { Redis } from "ioredis";
import { exportAll } from "../../../jobs/export.ts";
import { publishJob } from "../../../jobs/publish.ts";
import type { Sessions } from "../../../jobs/session.ts";
import type { Config } from "../../core/config/config.ts";
import { endLine } from "../../core/report/problem.ts";
import { askAlerts, processAlert } from "../alerts/redis.ts";
import { askDeliveries, processDeliver } from "../deliveries/redis.ts";
import { isMember, isPaused } from "../fleet/fleet.ts";
import { type ActiveJob, type JobConsumers, type KnownProfiles, runProfileJob } from "../redis/job-consumers.ts";
import { dropTimes } from "../redis/marks.ts";
import { atRedis, redisNow } from "../redis/queue-connections.ts";
import { JOB_OPTIONS, keyOf, type Queues } from "../redis/queues.ts";
import { exportPayload, type SyncPayload, WRITTEN } from "../requests/job-payloads.ts";
import { processTick } from "../schedules/redis.ts";
import { isScheduled, liveSyncs } from "../syncs/redis/live-syncs.ts";
import { type HeldBack, processSync, type SyncJobDeps } from "../syncs/redis/process-sync.ts";
import { processVerify } from "../verifications/redis.ts";
import type { OpenWorker, WorkerDeps } from "./open-worker.ts";

// Whether a sync may start now: not while it is paused, and not before one of its profile that a person asked for. One whose
// mirror has a home is offered to its last worker first, which has nothing to fetch.

type SyncId = Pick<SyncPayload, "syncId" | "profile">;

/** Whether schedules alone asked for the sync, and it has not started while one waits that a person asked for. */
const isBehind = async (redis: Redis, queues: Queues, { profile, syncId }: SyncId): Promise<boolean> => {
  // What a person asked for is never behind, and its own entry is enough to know.
  if (!(await isScheduled(redis, profile, syncId))) return false;
  const live = await liveSyncs(redis, queues, profile);
  const own = live.find((sync) => sync.syncId === syncId);
  if (own === undefined || own.started) return false;
  return live.some((other) => !other.scheduled && !other.started && other.readable);
};

/** How long a sync waits for the worker that had the mirror last, ms. */
const OFFERED_MS = 3_000;
/** A fleet that syncs rarely offers, too. */
const LAST_LASTS_MS = 7 * 86_400_000;

/** Offers a mirror with a home to its last worker; true: that one lives and may still take it. */
const isElsewhere = async (redis: Redis, { profile, syncId }: SyncId, workerId: string): Promise<boolean> => {
  const last = keyOf("last", profile);
  const offered = keyOf("offered", syncId);
  const holder = await redis.get(last);
  if (holder !== null && holder !== workerId && (await isMember(redis, holder))) {
    const now = await redisNow(redis);
    await redis.set(offered, String(now), "PX", 100 * OFFERED_MS, "NX");
    if (now - Number((await redis.get(offered)) ?? now) < OFFERED_MS) return true;
  }
  await redis.set(last, workerId, "PX", LAST_LASTS_MS);
  return false;
};

/** `worker`: takes syncs, and knows which mirrors have a home; unset: none has. */
export const holdBackBy =
  (redis: Redis, queues: Queues, worker?: { readonly id: string; readonly hasHome: (profile: string) => boolean }) =>
  async (sync: SyncId): Promise<HeldBack | null> => {
    if (await isPaused(redis, sync.profile)) return "paused";
    if (await isBehind(redis, queues, sync)) return "behind";
    if (worker?.hasHome(sync.profile) !== true) return null;
    return (await isElsewhere(redis, sync, worker.id)) ? "elsewhere" : null;
  };

// Exports on BullMQ: one job per sync, asked for after its publish.

/** Asks for the exports of a profile, where it has any. */
const askExport = async (
  { export: queue }: Pick<Queues, "export">,
  { syncId, profile, traceparent }: SyncPayload,
  { exportFormats }: Config,
): Promise<void> => {
  if (exportFormats.length === 0) return;
  const traced = traceparent === undefined ? {} : { traceparent };
  await queue.add("export", { ...WRITTEN, syncId, profile, ...traced }, { ...JOB_OPTIONS, jobId: `${syncId}.export` });
};

interface ExportDeps extends KnownProfiles {
  /** Called with the written formats. */
  readonly onExported: (formats: readonly string[], ms: number, run: { runId: string; profile: string }) => void;
}

/** Writes the profile's exports; returns the formats. */
const processExport = (taken: ActiveJob, deps: ExportDeps) =>
  runProfileJob(taken, exportPayload, deps, async (config, { profile, syncId: runId }) => {
    const startedAt = performance.now();
    const formats = await exportAll(config, taken.signal);
    deps.onExported(formats, performance.now() - startedAt, { runId, profile });
    return formats;
  });

const EXPORTS_AT_ONCE = 2;
const DELIVERIES_AT_ONCE = 4;
const ALERTS_AT_ONCE = 8;

export interface QueueConsumers {
  readonly syncs: Worker;
  readonly verifying: Worker;
  /** These two, and all the others. */
  readonly all: readonly Worker[];
}

const syncDeps = (deps: WorkerDeps, opened: OpenWorker, sessions: Sessions): SyncJobDeps => {
  const { profiles, clock, scrubber, log, tracer } = deps;
  const { asking, queues, marks, times } = opened;
  const homes = new Set(profiles.flatMap(({ profile, home }) => (home === null ? [] : [profile])));
  const hasHome = (profile: string) => homes.has(profile);
  const holdBack = holdBackBy(asking.redis, queues, { id: opened.workerId, hasHome });
  return {
    profiles,
    sessions,
    marks,
    // As everywhere: a broken connection is no failure of the job.
    holdBack: (sync) => atRedis(asking, () => holdBack(sync)),
    publish: publishJob,
    askNext: (sync, profile) =>
      atRedis(asking, async () => {
        await askExport(queues, sync, profile);
        await askDeliveries(queues, sync.syncId, profile, times.deliveryWait);
        await askAlerts(queues, [profile]);
      }),
    onEnd: ({ profile }, outcome) => {
      const { level, text } = endLine(profile, outcome);
      log(level, text);
    },
    clock,
    scrubber,
    ...(tracer === undefined ? {} : { tracer }),
  };
};

/** Starts taking jobs, after each worker's own `run`. `most`: syncs at once. */
export const startQueueConsumers = (
  deps: WorkerDeps,
  opened: OpenWorker,
  { taking, sessions, most }: { readonly taking: JobConsumers; readonly sessions: Sessions; readonly most: number },
): QueueConsumers => {
  const { asking, marks, queues, triggers, complain } = opened;
  const { profiles, clock, random, log } = deps;
  const syncing = syncDeps(deps, opened, sessions);
  const verify = deps.verify(asking);
  const logged = new Map<string, string>();
  const common = { profiles, clock, random, log, warn: (text: string) => log("warn", text) };
  const delivering = { ...common, ...(deps.open === undefined ? {} : { open: deps.open }) };
  const exporting = {
    ...common,
    onExported: (formats: readonly string[], ms: number, run: { runId: string; profile: string }) =>
      deps.emit({ kind: "exported", formats, ms }, run),
  };

  const syncs = taking.from<unknown>("sync", most, (taken) => processSync(taken, syncing));
  const verifying = taking.from("verify", most, (taken) => processVerify(taken, { ...deps, sessions, verify, marks }));
  // Only now: without its deadline, a sync that is over would be joined.
  const drop = (id: string | undefined) => void dropTimes(asking.redis, id ?? "").catch(complain);
  syncs.on("completed", (job) => drop(job.id));
  syncs.on("failed", (job) => drop(job?.id));
  const all = [
    syncs,
    verifying,
    taking.from("export", EXPORTS_AT_ONCE, (taken) => processExport(taken, exporting)),
    taking.from("deliver", DELIVERIES_AT_ONCE, (taken) => processDeliver(taken, delivering)),
    taking.from("alert", ALERTS_AT_ONCE, (taken) => processAlert(taken, common, logged)),
    taking.from("schedule", 1, (taken) => processTick(taken, { ...common, queues, triggers })),
  ];
  return { syncs, verifying, all };
};
