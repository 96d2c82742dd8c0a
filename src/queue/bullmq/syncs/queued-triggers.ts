// Triggers on BullMQ: a request becomes a flow of jobs, or joins one that covers it. Any process with the same Redis
// and configuration can request a sync; a worker runs it.
import { FlowProducer, type Job } from "bullmq";
import type { z } from "zod";
import type { RedisConnection } from "../../../budget/store/redis-connection.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { isCode } from "../../../core/errors.ts";
import type { AskedSync } from "../../../core/report/triggers.ts";
import { endedState, profileOf, type Triggers } from "../../asks.ts";
import { toldFailure } from "../../failures.ts";
import { isPaused } from "../../fleet/pauses.ts";
import { parsePayload, syncHead, syncOutcome, syncPayload } from "../../payloads.ts";
import { findStored } from "../../stored-syncs.ts";
import { LATE, lifeOf, shownState, timeLeftOf } from "../../sync-life.ts";
import { createQueuedVerifications } from "../queued-verifications.ts";
import { PREFIX, type Queues } from "../queues.ts";
import { cancelledOf, markCancelled, readProgress, timesOf } from "../redis-board.ts";
import { atRedis } from "../redis-connections.ts";
import { createLine } from "./line.ts";
import { isLive, openSyncs } from "./live-syncs.ts";
import { LOCK_MS } from "./profile-lock.ts";
import { bringForward } from "./put-off-jobs.ts";
import { createStart } from "./start-sync.ts";

export interface QueuedTriggersDeps {
  readonly connection: RedisConnection;
  readonly queues: Queues;
  readonly profiles: readonly Config[];
  readonly clock: Clock;
  readonly random: () => number;
  readonly onError: (error: Error) => void;
}

export interface QueuedTriggers extends Triggers {
  close(): Promise<void>;
}

export const createQueuedTriggers = (deps: QueuedTriggersDeps): QueuedTriggers => {
  const { connection, queues, profiles, clock, random } = deps;
  const { redis } = connection;
  const flows = new FlowProducer({ connection: redis, prefix: PREFIX });
  flows.on("error", deps.onError);

  const verifications = createQueuedVerifications({ redis, queues, profiles, clock, random });

  const asking = <T>(work: () => Promise<T>): Promise<T> => atRedis(connection, work);

  /** State of a sync that has not ended, from the queue and its worker. */
  const describedLive = async (head: z.output<typeof syncHead>): Promise<AskedSync> => {
    const { syncId, profile, askedAt } = head;
    const [times, cancelled, progress, held] = await Promise.all([
      timesOf(redis, syncId),
      cancelledOf(redis, [syncId]),
      readProgress(redis, syncId),
      Promise.all([isPaused(redis, profile), queues.sync.isPaused()]),
    ]);
    const timeoutMs = profiles.find((config) => config.profile === profile)?.syncTimeoutMs ?? null;
    const { leftMs } = timeLeftOf(times, timeoutMs);
    const life = lifeOf({ times, timeoutMs, held: true, cancelled: cancelled.has(syncId) });
    const error = life === "expired" ? LATE : null;
    const dueAt = leftMs === null ? null : clock.now() + leftMs;
    const paused = life === "waiting" && held.includes(true);
    return { runId: syncId, state: shownState(life), profile, askedAt, report: null, error, dueAt, progress, paused };
  };

  const described = async (job: Job, state: string): Promise<AskedSync> => {
    // Also of one that a newer program queued: its worker does what this one cannot read.
    const sync = syncHead.safeParse(job.data).data ?? parsePayload(syncPayload, job.id ?? "", job.data);
    const base = { runId: sync.syncId, profile: sync.profile, askedAt: sync.askedAt };
    if (state === "failed") return { ...base, state: "failed", report: null, error: toldFailure(job.failedReason) };
    if (state !== "completed") return describedLive(sync);
    const { report, problem, cancelled } = parsePayload(syncOutcome, sync.syncId, job.returnvalue);
    return { ...base, state: cancelled ? "cancelled" : endedState(report.status), report, error: problem };
  };

  const find = async (runId: string): Promise<AskedSync | null> => {
    // Read the state first: a job read after its end has its result; a job read before may not.
    const state = await queues.publish.getJobState(runId);
    const job: Job | undefined = state === "unknown" ? undefined : await queues.publish.getJob(runId);
    return job === undefined ? findStored(profiles, runId) : described(job, state);
  };

  const inLine = createLine(clock, LOCK_MS);
  const start = createStart({ ...deps, flows, isKnown: async (runId) => (await find(runId)) !== null });

  return {
    start: (ask) => asking(() => inLine(profileOf(profiles, ask.profile).profile, () => start(ask))),
    verify: ({ profile }) => asking(() => verifications.start(profile)),
    find: (runId) => asking(async () => (await verifications.find(runId)) ?? find(runId)),
    cancel: (runId) =>
      asking(async () => {
        if (!(await isLive(queues, runId))) return verifications.cancel(runId);
        await markCancelled(redis, runId);
        await bringForward(queues, runId);
        return true;
      }),
    active: () =>
      asking(async () => {
        const open = await Promise.all(profiles.map(({ profile }) => openSyncs(redis, queues, profile)));
        const known = (error: unknown) => {
          // A newer program queued it, and this one cannot show it.
          if (isCode(error, "JOB_VERSION")) return null;
          throw error;
        };
        const found = await Promise.all(open.flat().map(({ syncId }) => find(syncId).catch(known)));
        return [...found.filter((sync) => sync !== null), ...(await verifications.active())];
      }),
    close: () => flows.close(),
  };
};
