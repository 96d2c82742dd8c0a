// Starts a requested sync with Redis: joins a waiting one that covers it, or adds its job. Requests of the same moment share their round
// trips to Redis.

import { randomUUID } from "node:crypto";
import type { Job } from "bullmq";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { Started, TriggerRequest } from "../../../core/report/triggers.ts";
import { runIdSchema } from "../../../core/text/run-id.ts";
import { createAddJob, createSend, type RedisCommand, type Send, settingDue } from "../../redis/marks.ts";
import { redisNow } from "../../redis/queue-connections.ts";
import { keyOf, type Queues, SCHEDULED_PRIORITY, SYNC_OPTIONS } from "../../redis/queues.ts";
import type { SyncPayload } from "../../requests/job-payloads.ts";
import {
  KEY_LASTS_S,
  keyDigest,
  laterDeadline,
  mayJoin,
  payloadOf,
  profileOf,
  requestDigest,
} from "../../requests/sync-requests.ts";
import { announcing, dropSync, type LiveSync, liveAmong, noteAsked, readingEntries } from "./live-syncs.ts";

// Changes the waiting job of a sync: makes a postponed one due at once, so that it sees a cancellation or the end of a pause;
// raises its priority when a person joins a sync that a schedule asked for.

type SyncQueue = Pick<Queues, "sync">;

/** Gives the sync's job the priority of those that persons ask for. A job that has ended is not affected. */
const raisePriority = async ({ sync }: SyncQueue, syncId: string): Promise<void> => {
  const job: Job | undefined = await sync.getJob(syncId);
  await job?.changePriority({ priority: 0 });
};

/** Makes the sync's job due, if it is delayed. */
export const bringForward = async ({ sync }: SyncQueue, syncId: string): Promise<void> => {
  const job: Job | undefined = await sync.getJob(syncId);
  if (job === undefined || !(await job.isDelayed())) return;
  try {
    await job.promote();
  } catch (error) {
    // It became due meanwhile.
    if (await job.isDelayed()) throw error;
  }
};

// A lock per profile in Redis: two requests for a sync of one profile must not both find nothing to join. After five seconds
// a request goes on without the lock, which costs a second sync at worst.

/** How long the lock is held at most, and how long a request waits for it, ms. */
export const LOCK_MS = 5_000;
const LOCK_POLL_MS = 20;
const FREE_LOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/**
 * A function that does `work` under the lock of a profile. `reads` are sent with the request for the lock; Redis carries them
 * out after it, and `work` gets their results.
 */
const createProfileLock =
  (send: Send, clock: Clock) =>
  async <T>(
    profile: string,
    reads: readonly RedisCommand[],
    work: (found: readonly unknown[]) => Promise<T>,
  ): Promise<T> => {
    const key = keyOf("asking", profile);
    const token = randomUUID();
    const deadline = clock.now() + LOCK_MS;
    try {
      for (;;) {
        const [locked, ...found] = await send([["set", key, token, "PX", LOCK_MS, "NX"], ...reads]);
        if (locked !== null || clock.now() >= deadline) return await work(found);
        await clock.sleep(LOCK_POLL_MS);
      }
    } finally {
      // Not awaited: the connection keeps the order, so the next request of this process finds the lock free.
      send([["eval", FREE_LOCK, 1, key, token]]).catch(() => undefined);
    }
  };

const remembered = z.string().transform((text) => {
  const [runId = "", digest = ""] = text.split(" ");
  return { runId: runIdSchema.safeParse(runId).data ?? null, digest };
});

/** The sync that an earlier request with this idempotency key started; null: none. Throws IDEMPOTENCY_REUSED. */
const askedBefore = (found: unknown, ask: TriggerRequest): string | null => {
  if (found === null || found === undefined) return null;
  const { runId, digest } = remembered.parse(found);
  if (runId === null) return null;
  if (digest !== requestDigest(ask)) throw new DuckmirrorError("IDEMPOTENCY_REUSED", { run: runId });
  return runId;
};

interface StartDeps {
  readonly connection: { readonly redis: Redis };
  readonly queues: Queues;
  readonly profiles: readonly Config[];
  readonly clock: Clock;
  readonly random: () => number;
  /** Whether the state of a sync is still stored. */
  readonly isKnown: (runId: string) => Promise<boolean>;
}

/** A request and its sync, should it join none. */
interface Wanted {
  readonly ask: TriggerRequest;
  readonly config: Config;
  readonly sync: SyncPayload;
}

/** Makes the function that starts syncs. It throws as `Triggers.start`, and the errors of Redis. */
export const createStart = (deps: StartDeps): ((ask: TriggerRequest) => Promise<Started>) => {
  const { queues, profiles, clock, random, isKnown } = deps;
  const { redis } = deps.connection;
  const send = createSend(redis);
  const addJob = createAddJob(redis, queues.sync);
  const underLock = createProfileLock(send, clock);

  const add = async ({ ask, sync }: Wanted, dueAt: number | null): Promise<void> => {
    const scheduled = ask.scheduled === true;
    const opts = { ...SYNC_OPTIONS, jobId: sync.syncId, ...(scheduled ? { priority: SCHEDULED_PRIORITY } : {}) };
    const due = dueAt === null ? [] : [settingDue(sync.syncId, dueAt)];
    try {
      await addJob({ name: "sync", data: sync, opts, marks: [...due, announcing(sync, scheduled)] });
    } catch (error) {
      await dropSync(redis, sync).catch(() => undefined);
      throw error;
    }
  };

  const join = async (joined: LiveSync, { ask, config }: Wanted, dueAt: number | null): Promise<void> => {
    if (!joined.started) await send([settingDue(joined.syncId, laterDeadline(joined.dueAt, dueAt))]);
    if (!joined.scheduled || ask.scheduled === true) return;
    await noteAsked(redis, config.profile, joined.syncId);
    await raisePriority(queues, joined.syncId);
  };

  const startOne = async (wanted: Wanted, live: readonly LiveSync[]): Promise<Started> => {
    const { ask, sync } = wanted;
    const joined = live.find((other) => other.readable && mayJoin(ask, sync, other));
    const dueAt = typeof ask.timeoutMs === "number" ? (await redisNow(redis)) + ask.timeoutMs : null;
    if (joined === undefined) await add(wanted, dueAt);
    else await join(joined, wanted, dueAt);
    return { runId: joined?.syncId ?? sync.syncId, joined: joined !== undefined };
  };

  return async (ask) => {
    const config = profileOf(profiles, ask.profile);
    const { profile } = config;
    const sync = payloadOf(ask, config, clock.now(), random);
    // Redis keeps the key for a day, with the sync that it started.
    const key = ask.idempotencyKey === null ? null : keyOf("asked", profile, keyDigest(ask.idempotencyKey));
    const reads: RedisCommand[] = [readingEntries(profile), ...(key === null ? [] : [["get", key] as const])];
    return underLock(profile, reads, async ([entries, found]) => {
      const earlier = askedBefore(found, ask);
      // An earlier sync that is no longer stored would be waited for in vain.
      if (earlier !== null && (await isKnown(earlier))) return { runId: earlier, joined: true };
      const started = await startOne({ ask, config, sync }, await liveAmong(entries, redis, queues, profile));
      if (key !== null) await send([["set", key, `${started.runId} ${requestDigest(ask)}`, "EX", KEY_LASTS_S]]);
      return started;
    });
  };
};
