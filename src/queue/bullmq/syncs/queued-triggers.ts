// Triggers on BullMQ: a request becomes a flow of jobs, or joins one that covers it. Any process with the same Redis
// and configuration can request a sync; a worker runs it.
import { randomUUID } from "node:crypto";
import { FlowProducer, type Job } from "bullmq";
import type { z } from "zod";
import type { RedisConnection } from "../../../budget/store/redis-connection.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { isCode } from "../../../core/errors.ts";
import {
  type AskedSync,
  endedState,
  joins,
  laterOf,
  payloadOf,
  profileOf,
  type Started,
  type SyncAsk,
  type Triggers,
} from "../../asks.ts";
import { toldFailure } from "../../failures.ts";
import { isPaused } from "../../fleet/pauses.ts";
import { parsePayload, type SyncPayload, syncHead, syncOutcome, syncPayload } from "../../payloads.ts";
import { findStored } from "../../stored-syncs.ts";
import { LATE, lifeOf, shownState, timeLeftOf } from "../../sync-life.ts";
import { createQueuedVerifications } from "../queued-verifications.ts";
import { keyOf, PREFIX, type Queues } from "../queues.ts";
import { cancelledOf, markCancelled, readProgress, redisNow, setDue, timesOf } from "../redis-board.ts";
import { atRedis } from "../redis-connections.ts";
import { askedBefore, rememberAsk } from "./asked-keys.ts";
import { flowOf } from "./flow.ts";
import { createLine } from "./line.ts";
import { announceSync, forgetSync, isLive, liveSyncs, noteAsked, openSyncs } from "./live-syncs.ts";
import { bringForward, raisePriority } from "./put-off-jobs.ts";

/** Longest time for which one request of a profile may delay another, ms. */
const TURN_MS = 5_000;
const TURN_POLL_MS = 20;
const FREE_TURN = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

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

  const inLine = createLine(clock, TURN_MS);
  const asking = <T>(work: () => Promise<T>): Promise<T> => atRedis(connection, work);

  /**
   * Handles one request of a profile at a time, so that two cannot both find nothing to join. Losing a turn costs a
   * superfluous sync. `read` is sent with the request for the turn: Redis carries it out after that, and each answer that
   * is waited for is a wait behind everything else that this process does.
   */
  const inTurn = async <R, T>(profile: string, read: () => Promise<R>, work: (found: R) => Promise<T>): Promise<T> => {
    const key = keyOf("asking", profile);
    const token = randomUUID();
    const deadline = clock.now() + TURN_MS;
    try {
      for (;;) {
        const [turn, found] = await Promise.all([redis.set(key, token, "PX", TURN_MS, "NX"), read()]);
        if (turn !== null || clock.now() >= deadline) return await work(found);
        await clock.sleep(TURN_POLL_MS);
      }
    } finally {
      // The next request is sent after this one, on the same connection.
      redis.eval(FREE_TURN, 1, key, token).catch(() => undefined);
    }
  };

  const add = async (sync: SyncPayload, config: Config, dueAt: number | null, scheduled: boolean): Promise<void> => {
    try {
      // Sent together, in this order.
      await Promise.all([
        dueAt === null ? null : setDue(redis, sync.syncId, dueAt),
        announceSync(redis, sync, scheduled),
        flows.add(flowOf(sync, config.exportFormats.length > 0, scheduled)),
      ]);
    } catch (error) {
      await forgetSync(redis, sync).catch(() => undefined);
      throw error;
    }
  };

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

  const start = async (ask: SyncAsk): Promise<Started> => {
    const config = profileOf(profiles, ask.profile);
    const sync = payloadOf(ask, config, clock.now(), random);
    const read = () => Promise.all([askedBefore(redis, config.profile, ask), liveSyncs(redis, queues, config.profile)]);
    return inTurn(config.profile, read, async ([earlier, live]) => {
      // An earlier sync that is no longer stored would be waited for in vain.
      if (earlier !== null && (await find(earlier)) !== null) return { runId: earlier, joined: true };
      const joined = live.find((other) => other.readable && joins(ask, sync, other));
      const dueAt = typeof ask.timeoutMs === "number" ? (await redisNow(redis)) + ask.timeoutMs : null;
      const scheduled = ask.scheduled === true;
      if (joined === undefined) await add(sync, config, dueAt, scheduled);
      else if (!joined.started) await setDue(redis, joined.syncId, laterOf(joined.dueAt, dueAt));
      if (joined?.scheduled === true && !scheduled) {
        await noteAsked(redis, config.profile, joined.syncId);
        await raisePriority(queues, joined.syncId);
      }
      const runId = joined?.syncId ?? sync.syncId;
      await rememberAsk(redis, config.profile, ask, runId);
      return { runId, joined: joined !== undefined };
    });
  };

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
