// The board of syncs in Redis: one key per mark, so that no mark is lost while a worker reconnects, and the progress
// that BullMQ stores with each job.
import type { Job } from "bullmq";
import type { Redis } from "ioredis";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import { type SyncProgress, syncProgress } from "../../core/report/sync-progress.ts";
import { atRedis } from "../redis/queue-connections.ts";
import { familyJobId, keyOf, PREFIX, QUEUE, type Queues } from "../redis/queues.ts";
import { redisNow } from "../redis/redis-now.ts";
import type { RedisCommand } from "../redis/together.ts";
import type { KeptEnd, SyncBoard } from "../taking/sync-board.ts";
import type { SyncTimes } from "../taking/sync-life.ts";

/**
 * Marks of a sync besides its jobs: cancelled; time of its first start and deadline, ms by Redis's clock; progress of
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

/** An older program marks a start without its time; it then counts from now. */
const momentIn = (text: string | null | undefined, now: number): number | null =>
  text == null ? null : Number(text) > 1 ? Number(text) : now;

/** Times of several syncs, in their order, by one reading of the clock. */
export const timesOfAll = async (redis: Redis, syncIds: readonly string[]): Promise<readonly SyncTimes[]> => {
  if (syncIds.length === 0) return [];
  const keys = syncIds.flatMap((syncId) => [markOf("started", syncId), markOf("due", syncId)]);
  const [now, marks] = await Promise.all([redisNow(redis), redis.mget(keys)]);
  return syncIds.map((_, nth) => ({
    now,
    startedAt: momentIn(marks[2 * nth], now),
    dueAt: momentIn(marks[2 * nth + 1], now),
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

const runnerKey = (syncId: string) => keyOf("runner", syncId);

/** Whether a live worker runs the sync. */
export const isUnderWay = async (redis: Redis, syncId: string): Promise<boolean> =>
  (await redis.exists(runnerKey(syncId))) === 1;

/** KEYS: runner. ARGV: worker, lifetime in ms. */
const CLAIM = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;
const GIVE_UP = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

const RENEW =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0";

/** Extends this worker's claims to these syncs by `claimMs`. */
export const renewClaims = async (
  redis: Redis,
  syncIds: readonly string[],
  worker: string,
  claimMs: number,
): Promise<void> => {
  for (const syncId of syncIds) await redis.eval(RENEW, 1, runnerKey(syncId), worker, claimMs);
};

/** Family -> end of its job; jobs that have not ended are omitted. */
const endsIn = async (queues: Queues, syncId: string, families: readonly string[]) => {
  const publish: Job | undefined = await queues.publish.getJob(syncId);
  const values = (await publish?.getChildrenValues<unknown>()) ?? {};
  const failures = (await publish?.getIgnoredChildrenFailures()) ?? {};
  const ends = new Map<string, KeptEnd>();
  for (const family of families) {
    const id = familyJobId(syncId, family);
    const key = `${PREFIX}:${QUEUE.sync}:${id}`;
    const failed: Job | undefined = key in failures ? await queues.sync.getJob(id) : undefined;
    if (key in values) ends.set(family, { progress: values[key], failure: null });
    else if (key in failures) ends.set(family, { progress: failed?.progress, failure: failures[key] ?? "" });
  }
  return ends;
};

/** `worker`: name of this process. A worker that does not renew its claim to a sync for `claimMs` has lost it. */
export const createRedisBoard = (
  connection: RedisConnection,
  queues: Queues,
  { worker, claimMs }: { readonly worker: string; readonly claimMs: number },
): SyncBoard => {
  const { redis } = connection;
  const jobOf = (syncId: string, family: string): Promise<Job | undefined> =>
    queues.sync.getJob(familyJobId(syncId, family));
  const at = <T>(work: () => Promise<T>) => atRedis(connection, work);
  return {
    isCancelled: (syncId) => at(async () => (await cancelledOf(redis, [syncId])).has(syncId)),
    claim: (syncId) => at(async () => (await redis.eval(CLAIM, 1, runnerKey(syncId), worker, claimMs)) === 1),
    giveUp: (syncId) => at(async () => void (await redis.eval(GIVE_UP, 1, runnerKey(syncId), worker))),
    start: (syncId) => at(() => markStarted(redis, syncId)),
    timesOf: (syncId) => at(() => timesOf(redis, syncId)),
    progressOf: (syncId, families) =>
      at(async () => {
        const jobs = await Promise.all(families.map((family) => jobOf(syncId, family)));
        return new Map(
          families.flatMap((family, nth) => (jobs[nth] === undefined ? [] : [[family, jobs[nth].progress]])),
        );
      }),
    keep: (syncId, family, progress) => at(async () => (await jobOf(syncId, family))?.updateProgress(progress)),
    ends: ({ syncId, families }) => at(() => endsIn(queues, syncId, families)),
  };
};
