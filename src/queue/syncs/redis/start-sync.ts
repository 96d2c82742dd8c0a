// Starts a requested sync: joins a waiting one that covers it, or adds its job. Requests of the same moment share
// their waits for Redis.
import type { Redis } from "ioredis";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import type { Started, SyncAsk } from "../../../core/report/triggers.ts";
import { joins, laterOf, payloadOf, profileOf } from "../../asking/asks.ts";
import type { SyncPayload } from "../../asking/payloads.ts";
import { settingDue } from "../../redis/marks.ts";
import { type Queues, SCHEDULED_PRIORITY, SYNC_OPTIONS } from "../../redis/queues.ts";
import { redisNow } from "../../redis/redis-now.ts";
import { createAddJob, createSend } from "../../redis/together.ts";
import { askedBefore, keyReads, keyWrites } from "./asked-keys.ts";
import { announcing, dropSync, type LiveSync, liveAmong, noteAsked, readingEntries } from "./live-syncs.ts";
import { createProfileLock } from "./profile-lock.ts";
import { raisePriority } from "./put-off-jobs.ts";

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
  readonly ask: SyncAsk;
  readonly config: Config;
  readonly sync: SyncPayload;
}

/** Makes the function that starts syncs. It throws as `Triggers.start`, and the errors of Redis. */
export const createStart = (deps: StartDeps): ((ask: SyncAsk) => Promise<Started>) => {
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
    if (!joined.started) await send([settingDue(joined.syncId, laterOf(joined.dueAt, dueAt))]);
    if (!joined.scheduled || ask.scheduled === true) return;
    await noteAsked(redis, config.profile, joined.syncId);
    await raisePriority(queues, joined.syncId);
  };

  const startOne = async (wanted: Wanted, live: readonly LiveSync[]): Promise<Started> => {
    const { ask, config, sync } = wanted;
    const joined = live.find((other) => other.readable && joins(ask, sync, other));
    const dueAt = typeof ask.timeoutMs === "number" ? (await redisNow(redis)) + ask.timeoutMs : null;
    if (joined === undefined) await add(wanted, dueAt);
    else await join(joined, wanted, dueAt);
    const runId = joined?.syncId ?? sync.syncId;
    const writes = keyWrites(config.profile, ask, runId);
    if (writes.length > 0) await send(writes);
    return { runId, joined: joined !== undefined };
  };

  return async (ask) => {
    const config = profileOf(profiles, ask.profile);
    const { profile } = config;
    const sync = payloadOf(ask, config, clock.now(), random);
    const reads = [readingEntries(profile), ...keyReads(profile, ask)];
    return underLock(profile, reads, async ([entries, key]) => {
      const earlier = askedBefore(key, ask);
      // An earlier sync that is no longer stored would be waited for in vain.
      if (earlier !== null && (await isKnown(earlier))) return { runId: earlier, joined: true };
      return startOne({ ask, config, sync }, await liveAmong(entries, redis, queues, profile));
    });
  };
};
