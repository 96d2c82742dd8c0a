// Requests for syncs with Redis: starts, joins, finds and cancels syncs as jobs of BullMQ. Any process with the same Redis and
// configuration can request one; a worker runs it.

import type { Job } from "bullmq";
import type { z } from "zod";
import type { RedisConnection } from "../../../budget/store/redis-connection.ts";
import { endsWithin } from "../../../core/async/waiting.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { isCode } from "../../../core/errors.ts";
import type { RequestedSync } from "../../../core/report/triggers.ts";
import { isPaused } from "../../fleet/fleet.ts";
import { cancelledOf, markCancelled, readProgress, timesOf } from "../../redis/marks.ts";
import { atRedis } from "../../redis/queue-connections.ts";
import type { Queues } from "../../redis/queues.ts";
import { keptSync, parsePayload, syncHead, syncOutcome, syncPayload } from "../../requests/job-payloads.ts";
import { findStored, storedProblem } from "../../requests/stored-failures.ts";
import { endedState, profileOf, type Triggers } from "../../requests/sync-requests.ts";
import { createQueuedVerifications } from "../../verifications/redis.ts";
import { LATE, openState, timeLeftOf } from "../sync-life.ts";
import { isLive, openSyncs } from "./live-syncs.ts";
import { bringForward, createStart, LOCK_MS } from "./start-sync.ts";

// Finds a sync that was asked for, with its state: from its job and its worker while it lives, later from the mirror.

export interface FinderDeps {
  readonly connection: RedisConnection;
  readonly queues: Queues;
  readonly profiles: readonly Config[];
  readonly clock: Clock;
}

/** State of a sync that has not ended, from the queue and its worker. */
const describedLive = async (
  { syncId, profile, askedAt }: z.output<typeof syncHead>,
  { connection: { redis }, queues, profiles, clock }: FinderDeps,
): Promise<RequestedSync> => {
  const [times, cancelled, progress, held] = await Promise.all([
    timesOf(redis, syncId),
    cancelledOf(redis, [syncId]),
    readProgress(redis, syncId),
    Promise.all([isPaused(redis, profile), queues.sync.isPaused()]),
  ]);
  const timeoutMs = profiles.find((config) => config.profile === profile)?.syncTimeoutMs ?? null;
  const { leftMs } = timeLeftOf(times, timeoutMs);
  const state = openState(times, cancelled.has(syncId));
  const error = state === "stopped" ? LATE : null;
  const dueAt = leftMs === null ? null : clock.now() + leftMs;
  const paused = state === "queued" && held.includes(true);
  return { runId: syncId, state, profile, askedAt, report: null, error, dueAt, progress, paused };
};

/** Null: of a profile that is not among those of this process, whose keys and sessions say nothing about it. */
const described = async (job: Job, state: string, deps: FinderDeps): Promise<RequestedSync | null> => {
  // Also of one that a newer program queued: its worker does what this one cannot read.
  const sync = syncHead.safeParse(job.data).data ?? parsePayload(syncPayload, job.id ?? "", job.data);
  if (!deps.profiles.some(({ profile }) => profile === sync.profile)) return null;
  const base = { runId: sync.syncId, profile: sync.profile, askedAt: sync.askedAt };
  if (state !== "completed" && state !== "failed") return describedLive(sync, deps);
  const kept = state === "failed" ? keptSync.safeParse(job.progress).data?.outcome : undefined;
  if (state === "failed" && kept == null)
    return { ...base, state: "failed", report: null, error: storedProblem(job.failedReason) };
  const { report, problem, cancelled } = kept ?? parsePayload(syncOutcome, sync.syncId, job.returnvalue);
  return { ...base, state: cancelled ? "cancelled" : endedState(report.status), report, error: problem };
};

export const createFinder = (deps: FinderDeps) => {
  const { queues, profiles } = deps;
  const find = async (runId: string): Promise<RequestedSync | null> => {
    // Read the state first: a job read after its end has its result; a job read before may not.
    const state = await queues.sync.getJobState(runId);
    const job: Job | undefined = state === "unknown" ? undefined : await queues.sync.getJob(runId);
    return job === undefined ? findStored(profiles, runId) : described(job, state, deps);
  };
  /** The syncs that this program can show: a newer program may have queued others. */
  const findAll = async (runIds: readonly string[]): Promise<readonly RequestedSync[]> => {
    const known = (error: unknown) => {
      if (isCode(error, "JOB_VERSION")) return null;
      throw error;
    };
    const found = await Promise.all(runIds.map((runId) => find(runId).catch(known)));
    return found.filter((sync) => sync !== null);
  };
  return { find, findAll };
};

// Requests of one profile in this process, one after the other: then only one of them waits for its turn at Redis. Many that
// ask there at once keep Redis busy with asking.

/** `mostMs`: nobody waits longer for those before. */
const createTurns = (clock: Clock, mostMs: number) => {
  const last = new Map<string, Promise<void>>();

  /** Runs `work` when the earlier ones of the same name have ended, and answers as it does. */
  return <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(name);
    const mine = before === undefined ? work() : endsWithin(before, mostMs, clock).then(work);
    const ended: Promise<void> = mine.then(
      () => undefined,
      () => undefined,
    );
    last.set(name, ended);
    void ended.then(() => {
      if (last.get(name) === ended) last.delete(name);
    });
    return mine;
  };
};

export interface QueuedTriggersDeps extends FinderDeps {
  readonly random: () => number;
}

export const createQueuedTriggers = (deps: QueuedTriggersDeps): Triggers => {
  const { connection, queues, profiles, clock, random } = deps;
  const { redis } = connection;
  const verifications = createQueuedVerifications({ redis, queues, profiles, clock, random });

  const asking = <T>(work: () => Promise<T>): Promise<T> => atRedis(connection, work);

  const { find, findAll } = createFinder(deps);
  const inTurn = createTurns(clock, LOCK_MS);
  const start = createStart({ ...deps, isKnown: async (runId) => (await find(runId)) !== null });

  return {
    start: (ask) => asking(() => inTurn(profileOf(profiles, ask.profile).profile, () => start(ask))),
    verify: ({ profile }) => asking(() => verifications.start(profile)),
    find: (runId) => asking(async () => (await verifications.find(runId)) ?? find(runId)),
    cancel: (runId) =>
      asking(async () => {
        if (!(await isLive(queues, runId))) return verifications.cancel(runId);
        if ((await find(runId)) === null) return false;
        await markCancelled(redis, runId);
        await bringForward(queues, runId);
        return true;
      }),
    active: () =>
      asking(async () => {
        const open = await Promise.all(profiles.map(({ profile }) => openSyncs(redis, queues, profile)));
        const found = await findAll(open.flat().map(({ syncId }) => syncId));
        return [...found, ...(await verifications.active())];
      }),
  };
};
