// Index in Redis of the queued and running syncs of a profile, which a new request may join: a hash per profile, sync id -> its streams.
// The sync's job decides whether it has ended; the index may be lost.
import type { Redis } from "ioredis";
import { z } from "zod";
import { isStreamName } from "../../../catalog/streams.ts";
import { runIdSchema } from "../../../core/text/run-id.ts";
import type { RedisCommand } from "../../redis/marks.ts";
import { cancelledOf, timesOfAll } from "../../redis/marks.ts";
import { keyOf, type Queues } from "../../redis/queues.ts";
import { isForOthers, type SyncPayload, versions } from "../../requests/job-payloads.ts";
import type { SyncExtent } from "../../requests/sync-requests.ts";

const extent = z
  .string()
  .transform((text): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  })
  .pipe(
    versions.extend({
      streams: z.array(z.string().refine(isStreamName)),
      full: z.boolean(),
      reset: z.array(z.string()).optional(),
      datedAfter: z.string().optional(),
      scheduled: z.boolean(),
    }),
  );

export interface LiveSync extends SyncExtent {
  readonly syncId: string;
  /** Workers of this version can run it: one that only others can run may wait for the end of an upgrade. */
  readonly readable: boolean;
  /** Only schedules asked for it. */
  readonly scheduled: boolean;
  /** Whether a run of it has started. */
  readonly started: boolean;
  /** Deadline, ms by Redis's clock; null: none. */
  readonly dueAt: number | null;
}

const keyFor = (profile: string) => keyOf("open", profile);

/** `scheduled`: only schedules asked for it. */
export const announcing = (sync: SyncPayload, scheduled: boolean): RedisCommand => {
  const { v, since, profile, syncId, streams, full, reset, datedAfter } = sync;
  return ["hset", keyFor(profile), syncId, JSON.stringify({ v, since, streams, full, reset, datedAfter, scheduled })];
};

/** A person joined a sync that only schedules had asked for. */
export const noteAsked = async (redis: Redis, profile: string, syncId: string): Promise<void> => {
  const text = await redis.hget(keyFor(profile), syncId);
  const entry = z.record(z.string(), z.unknown()).safeParse(JSON.parse(text ?? "null")).data;
  if (entry !== undefined) await redis.hset(keyFor(profile), syncId, JSON.stringify({ ...entry, scheduled: false }));
};

/** Whether only schedules asked for a sync, by its own entry. */
export const isScheduled = async (redis: Redis, profile: string, syncId: string): Promise<boolean> =>
  extent.safeParse((await redis.hget(keyFor(profile), syncId)) ?? "").data?.scheduled === true;

export const dropSync = async (redis: Redis, { profile, syncId }: SyncPayload): Promise<void> => {
  await redis.hdel(keyFor(profile), syncId);
};

/** True while the sync is queued or running. */
export const isLive = async (queues: Queues, syncId: string): Promise<boolean> =>
  !["completed", "failed", "unknown"].includes(await queues.sync.getJobState(syncId));

/** A sync whose job has not ended. */
interface OpenSync extends LiveSync {
  /** It is cancelled, or its deadline is over: it ends as soon as a worker takes its job, or at its next checkpoint. */
  readonly isEnding: boolean;
}

/** Reads the entries of a profile's syncs, for `openAmong` and `liveAmong`. */
export const readingEntries = (profile: string): RedisCommand => ["hgetall", keyFor(profile)];

const entriesSchema = z.record(z.string(), z.string());

/** Syncs of a profile whose jobs have not ended, oldest first. `entries`: result of `readingEntries`. */
const openAmong = async (
  entries: unknown,
  redis: Redis,
  queues: Queues,
  profile: string,
): Promise<readonly OpenSync[]> => {
  // The id becomes a part of keys, and the name of files.
  const found = Object.entries(entriesSchema.parse(entries)).filter(([id]) => runIdSchema.safeParse(id).success);
  if (found.length === 0) return [];
  const states = await Promise.all(found.map(([syncId]) => isLive(queues, syncId)));
  const ended = found.filter((_, nth) => !states[nth]).map(([syncId]) => syncId);
  if (ended.length > 0) await redis.hdel(keyFor(profile), ...ended);
  const live = found.flatMap(([syncId, text], nth): Omit<OpenSync, "started" | "dueAt" | "isEnding">[] => {
    const { data } = extent.safeParse(text);
    // Another version may know streams that this one does not.
    if (!states[nth] || data === undefined) return [];
    const { streams, full, reset, datedAfter, scheduled } = data;
    return [{ syncId, readable: !isForOthers(data), scheduled, streams, full, reset, datedAfter }];
  });
  const ids = live.map(({ syncId }) => syncId);
  const [cancelled, times] = await Promise.all([cancelledOf(redis, ids), timesOfAll(redis, ids)]);
  return live
    .map((sync, nth): OpenSync => {
      const { now = 0, startedAt = null, dueAt = null } = times[nth] ?? {};
      const isEnding = cancelled.has(sync.syncId) || (dueAt !== null && dueAt <= now);
      return { ...sync, started: startedAt !== null, dueAt, isEnding };
    })
    .sort((a, b) => a.syncId.localeCompare(b.syncId));
};

/** Those that a new request may join: queued or running, not cancelled, and within their deadline. */
export const liveAmong = async (...among: Parameters<typeof openAmong>): Promise<readonly LiveSync[]> =>
  (await openAmong(...among)).filter(({ isEnding }) => !isEnding);

/** Syncs of a profile whose jobs have not ended, oldest first. */
export const openSyncs = async (redis: Redis, queues: Queues, profile: string): Promise<readonly OpenSync[]> =>
  openAmong(await redis.hgetall(keyFor(profile)), redis, queues, profile);

export const liveSyncs = async (redis: Redis, queues: Queues, profile: string): Promise<readonly LiveSync[]> =>
  liveAmong(await redis.hgetall(keyFor(profile)), redis, queues, profile);
