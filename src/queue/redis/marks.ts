// State in Redis of each requested sync or verification: when it started and is due, whether it was cancelled, and its progress. One key
// per fact, so that none is lost while a worker reconnects. A lost key costs a superfluous run, never a wrong result. Also adds jobs
// and sends commands in batches.

import type { BulkJobOptions, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import { gathered } from "../../core/async/concurrency.ts";
import { type SyncProgress, syncProgress } from "../../core/report/sync-progress.ts";
import { atRedis, redisNow } from "./queue-connections.ts";
import { keyOf } from "./queues.ts";

// Commands and jobs of many requests for syncs, sent together: each wait for Redis is a wait behind everything else that
// this process does, and each write costs it time.

/** Redis does nothing else while it adds these jobs. */
const JOBS_AT_ONCE = 50;
const COMMANDS_AT_ONCE = 1_000;

export type RedisCommand = readonly [name: string, ...values: (string | number)[]];
/** Sends commands in the order of the calls, those of the same moment in one write. Resolves with their results. */
export type Send = (commands: readonly RedisCommand[]) => Promise<readonly unknown[]>;

/** Error and result of each command; a failed one has no result. */
const answersSchema = z.array(z.tuple([z.unknown(), z.unknown().optional()]));
type Answers = z.output<typeof answersSchema>;

const carryOut = async (redis: Redis, commands: readonly RedisCommand[]): Promise<Answers> =>
  answersSchema.parse(await redis.pipeline(commands.map((command) => [...command])).exec());

/** The results. Throws the first error among them. */
const resultsOf = (answers: Answers): readonly unknown[] => {
  const failed = answers.find(([error]) => error !== null);
  if (failed !== undefined) throw failed[0];
  return answers.map(([, result]) => result);
};

export const createSend = (redis: Redis): Send => {
  const send = gathered(COMMANDS_AT_ONCE, async (calls: readonly (readonly RedisCommand[])[]) => {
    const answers = await carryOut(redis, calls.flat());
    let at = 0;
    return calls.map(({ length }) => {
      at += length;
      return answers.slice(at - length, at);
    });
  });
  return async (commands) => resultsOf(await send(commands));
};

interface NewJob {
  readonly name: string;
  readonly data: object;
  readonly opts: BulkJobOptions;
  /** Carried out before the job is added: a worker may take it at once. */
  readonly marks: readonly RedisCommand[];
}

/** Adds jobs with their marks, those of the same moment in one step: all of them or none. */
export const createAddJob = (redis: Redis, queue: Queue): ((added: NewJob) => Promise<unknown>) =>
  gathered(JOBS_AT_ONCE, async (all: readonly NewJob[]) => {
    // Sent together, in this order.
    const [marked, added] = await Promise.all([
      carryOut(
        redis,
        all.flatMap(({ marks }) => marks),
      ),
      queue.addBulk(all.map(({ name, data, opts }) => ({ name, data, opts }))),
    ]);
    resultsOf(marked);
    return added;
  });

/** Times of a sync, ms by the queue's clock. */
export interface SyncTimes {
  readonly now: number;
  /** Start of its first run; null: none has started. */
  readonly startedAt: number | null;
  /** Deadline set by its callers; null: none. */
  readonly dueAt: number | null;
}

/** What the job of a sync needs of them. Methods reject with REDIS_UNAVAILABLE and REDIS_FULL. */
export interface SyncMarks {
  isCancelled(syncId: string): Promise<boolean>;
  /** Marks that a run starts, so that no further request joins. The first start counts. */
  start(syncId: string): Promise<void>;
  timesOf(syncId: string): Promise<SyncTimes>;
}

/**
 * Marks of a sync besides its job: cancelled; time of its first start and deadline, ms by Redis's clock; progress of
 * its run.
 */
type Mark = "cancelled" | "started" | "due" | "progress";

/** Longer than any sync waits or runs, s. */
const LASTS_S = 30 * 86_400;
const PROGRESS_LASTS_S = 86_400;

const markOf = (mark: Mark, syncId: string) => keyOf(mark, syncId);

export const markCancelled = async (redis: Redis, syncId: string): Promise<void> => {
  await redis.set(markOf("cancelled", syncId), "1", "EX", LASTS_S);
};

/** Marks the first start of a sync. */
const markStarted = async (redis: Redis, syncId: string): Promise<void> => {
  await redis.set(markOf("started", syncId), await redisNow(redis), "EX", LASTS_S, "NX");
};

/** Sets the deadline of a sync, ms by Redis's clock; null: removes it. */
export const settingDue = (syncId: string, dueAt: number | null): RedisCommand =>
  dueAt === null ? ["del", markOf("due", syncId)] : ["set", markOf("due", syncId), dueAt, "EX", LASTS_S];

/** null: there is none, or another program wrote it. */
const momentIn = (text: string | null | undefined): number | null =>
  text == null || Number.isNaN(Number(text)) ? null : Number(text);

/** Times of several syncs, in their order, by one reading of the clock. */
export const timesOfAll = async (redis: Redis, syncIds: readonly string[]): Promise<readonly SyncTimes[]> => {
  if (syncIds.length === 0) return [];
  const keys = syncIds.flatMap((syncId) => [markOf("started", syncId), markOf("due", syncId)]);
  const [now, marks] = await Promise.all([redisNow(redis), redis.mget(keys)]);
  return syncIds.map((_, nth) => ({
    now,
    startedAt: momentIn(marks[2 * nth]),
    dueAt: momentIn(marks[2 * nth + 1]),
  }));
};

export const timesOf = async (redis: Redis, syncId: string): Promise<SyncTimes> => {
  const [times] = await timesOfAll(redis, [syncId]);
  if (times === undefined) throw new TypeError(`no times of ${syncId}`);
  return times;
};

/** The cancelled ones of these syncs. */
export const cancelledOf = async (redis: Redis, syncIds: readonly string[]): Promise<ReadonlySet<string>> => {
  if (syncIds.length === 0) return new Set();
  const marks = await redis.mget(syncIds.map((syncId) => markOf("cancelled", syncId)));
  return new Set(syncIds.filter((_, index) => marks[index] !== null));
};

/** Stores the progress of this worker's runs, which is also a sign of life. */
export const keepProgress = async (redis: Redis, running: ReadonlyMap<string, SyncProgress>): Promise<void> => {
  if (running.size === 0) return;
  const heartbeat_at = await redisNow(redis);
  for (const [syncId, progress] of running) {
    const text = JSON.stringify({ ...progress, heartbeat_at });
    await redis.set(markOf("progress", syncId), text, "EX", PROGRESS_LASTS_S);
  }
};

/** Progress of a sync's run; null: no run, or a newer program runs it. */
export const readProgress = async (redis: Redis, syncId: string): Promise<SyncProgress | null> => {
  const text = await redis.get(markOf("progress", syncId));
  return text === null ? null : (syncProgress.safeParse(JSON.parse(text)).data ?? null);
};

/** Removes the marks of an ended sync that only matter while it runs. */
export const dropTimes = async (redis: Redis, syncId: string): Promise<void> => {
  await redis.del(markOf("progress", syncId), markOf("due", syncId));
};

export const createSyncMarks = (connection: RedisConnection): SyncMarks => {
  const { redis } = connection;
  return {
    isCancelled: (syncId) => atRedis(connection, async () => (await cancelledOf(redis, [syncId])).has(syncId)),
    start: (syncId) => atRedis(connection, () => markStarted(redis, syncId)),
    timesOf: (syncId) => atRedis(connection, () => timesOf(redis, syncId)),
  };
};
