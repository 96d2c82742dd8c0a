// The board of syncs in Redis: a key for each mark, so that no message can be lost while a worker reconnects, and the
// progress that BullMQ keeps with each job.
import type { Job } from "bullmq";
import type { Redis } from "ioredis";
import type { RedisConnection } from "../../budget/redis-connection.ts";
import type { KeptEnd, SyncBoard } from "../sync-board.ts";
import { atRedis } from "./connection.ts";
import { familyJobId, keyOf, PREFIX, QUEUE, type Queues } from "./queues.ts";

/** What is marked of a sync. */
type Mark = "cancelled" | "started";

/** Longer than any sync is queued or under way, s. */
const LASTS_S = 30 * 86_400;

export const markSync = async (redis: Redis, mark: Mark, syncId: string): Promise<void> => {
  await redis.set(keyOf(mark, syncId), "1", "EX", LASTS_S);
};

/** Those of the syncs that have the mark. */
export const markedOf = async (redis: Redis, mark: Mark, syncIds: readonly string[]): Promise<ReadonlySet<string>> => {
  if (syncIds.length === 0) return new Set();
  const marks = await redis.mget(syncIds.map((syncId) => keyOf(mark, syncId)));
  return new Set(syncIds.filter((_, index) => marks[index] !== null));
};

const runnerKey = (syncId: string) => keyOf("runner", syncId);

/** KEYS: runner. ARGV: worker, lifetime in ms. */
const CLAIM = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;
const GIVE_UP = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

const RENEW =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0";

/** The claims of this worker to these syncs last for another `claimMs`. */
export const renewClaims = async (
  redis: Redis,
  syncIds: readonly string[],
  worker: string,
  claimMs: number,
): Promise<void> => {
  for (const syncId of syncIds) await redis.eval(RENEW, 1, runnerKey(syncId), worker, claimMs);
};

/** Family -> how its job ended; those that have not are left out. */
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

/** `worker` names this process. A worker that does not renew its claim to a sync for `claimMs` has lost it. */
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
    isCancelled: (syncId) => at(async () => (await markedOf(redis, "cancelled", [syncId])).has(syncId)),
    claim: (syncId) => at(async () => (await redis.eval(CLAIM, 1, runnerKey(syncId), worker, claimMs)) === 1),
    giveUp: (syncId) => at(async () => void (await redis.eval(GIVE_UP, 1, runnerKey(syncId), worker))),
    start: (syncId) => at(() => markSync(redis, "started", syncId)),
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
