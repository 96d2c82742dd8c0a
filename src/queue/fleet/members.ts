// The register of the fleet: each worker process has a key in Redis that it renews every few seconds and that expires
// without renewal. A set is the index of the keys; an id in it without a key is a member that is gone.

import type { Redis } from "ioredis";
import { z } from "zod";
import { endsWithin } from "../../core/async/when-free.ts";
import type { Clock } from "../../core/clock.ts";
import type { Member, MemberIdentity, UnableProfile } from "../../core/report/fleet.ts";
import { VERSION } from "../asking/payloads.ts";
import { every } from "../asking/rounds.ts";
import { redisNow } from "../redis/queue-connections.ts";
import { keyOf } from "../redis/queues.ts";

const RENEW_MS = 5_000;
/** Lifetime of an entry without renewal: a killed member is listed with its last sign of life until then. */
const LASTS_MS = 30_000;
/** Time limit for leaving when Redis does not respond. */
const LEAVING_MS = 500;
/** The index outlives the entries, so that no entry is missing from it. */
const INDEX_LASTS_MS = 86_400_000;

const INDEX = keyOf("members");
const keyFor = (id: string) => keyOf("member", id);

const entry = z.object({
  version: z.string(),
  host: z.string(),
  pid: z.int(),
  since: z.number(),
  seen_at: z.number(),
  in_flight: z.number(),
  // Absent from workers of versions 1 and 2.
  reads: z.int().default(2),
  // Absent from workers of older versions.
  unable: z
    .array(z.object({ profile: z.string(), code: z.string(), message: z.string(), hint: z.string() }))
    .default([]),
});

const parsed = (text: string | null) => {
  try {
    return entry.safeParse(JSON.parse(text ?? "null")).data ?? null;
  } catch {
    return null;
  }
};

export interface MembershipDeps {
  readonly redis: Redis;
  readonly clock: Clock;
  readonly identity: MemberIdentity;
  readonly id: string;
  /** Its syncs now. */
  readonly inFlight: () => number;
  /** Profiles that it cannot sync now; unset: none. */
  readonly unable?: (() => readonly UnableProfile[]) | undefined;
  readonly onError: (error: unknown) => void;
  /** Interval of the signs of life, ms; the default is for production. */
  readonly renewMs?: number | undefined;
  /** Lifetime of the entry without renewal, ms; the default is for production. */
  readonly lastsMs?: number | undefined;
}

/** Registers this process until it is called off. The function that it returns removes the entry at once. */
export const joinFleet = (deps: MembershipDeps): (() => Promise<void>) => {
  const { redis, clock, identity, id, inFlight, onError, renewMs = RENEW_MS, lastsMs = LASTS_MS } = deps;
  const { unable = () => [] } = deps;
  const leaving = new AbortController();
  let since: number | null = null;

  const renew = async (): Promise<void> => {
    const now = await redisNow(redis);
    since ??= now;
    const member = { ...identity, reads: VERSION, since, seen_at: now, in_flight: inFlight(), unable: unable() };
    await redis
      .multi()
      .set(keyFor(id), JSON.stringify(member), "PX", lastsMs)
      .sadd(INDEX, id)
      .pexpire(INDEX, Math.max(INDEX_LASTS_MS, lastsMs))
      .exec();
  };
  const renewing = every(renewMs, renew, { clock, stopping: leaving.signal, onError });

  const leave = async (): Promise<void> => {
    await renewing;
    await redis.multi().del(keyFor(id)).srem(INDEX, id).exec();
  };
  return async () => {
    leaving.abort();
    // While Redis is away the entry expires by itself.
    await endsWithin(leave(), LEAVING_MS, clock).catch(() => undefined);
  };
};

/** The newest version of payloads that a member reads; 0: there is no member. */
export const newestReader = async (redis: Redis): Promise<number> =>
  Math.max(0, ...(await readMembers(redis)).map(({ reads }) => reads));

/** Whether a member gave a sign of life lately. */
export const isMember = async (redis: Redis, id: string): Promise<boolean> => (await redis.exists(keyFor(id))) === 1;

/** The members that gave a sign of life lately, the longest-serving first. */
export const readMembers = async (redis: Redis): Promise<readonly Member[]> => {
  const ids = await redis.smembers(INDEX);
  if (ids.length === 0) return [];
  const texts = await redis.mget(ids.map(keyFor));
  const gone = ids.filter((_, nth) => texts[nth] === null);
  if (gone.length > 0) await redis.srem(INDEX, ...gone);
  return ids
    .flatMap((id, nth): Member[] => {
      // Another version's entry may not be readable.
      const found = parsed(texts[nth] ?? null);
      return found === null ? [] : [{ id, ...found }];
    })
    .sort((a, b) => a.since - b.since || a.id.localeCompare(b.id));
};
