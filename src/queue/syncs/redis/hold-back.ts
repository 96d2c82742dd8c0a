// Whether a sync may start now: not while it is paused, and not before one of its profile that a person asked for.
import type { Redis } from "ioredis";
import type { SyncPayload } from "../../asking/payloads.ts";
import { isPaused } from "../../fleet/pauses.ts";
import type { Queues } from "../../redis/queues.ts";
import { isScheduled, liveSyncs } from "./live-syncs.ts";
import type { HeldBack } from "./process-sync.ts";

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

export const holdBackBy =
  (redis: Redis, queues: Queues) =>
  async (sync: SyncId): Promise<HeldBack | null> => {
    if (await isPaused(redis, sync.profile)) return "paused";
    return (await isBehind(redis, queues, sync)) ? "behind" : null;
  };
