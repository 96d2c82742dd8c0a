// The list of mirrors whose pages pass through Redis: a Redis hash, mirror id -> profile and last use. Loaders write it, so
// that every process can list the queues of pages.
import type { Redis } from "ioredis";
import { z } from "zod";
import { keyOf } from "../redis/queues.ts";
import { redisNow } from "../redis/redis-now.ts";

const MIRRORS = keyOf("mirrors");
/** An entry is kept as long as a response for a loader. */
const LASTS_MS = 30 * 86_400_000;

const entry = z.object({ profile: z.string(), used_at: z.number() });

const parsed = (text: string) => {
  try {
    return entry.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

export interface LoadedMirror {
  readonly mirror: string;
  readonly profile: string;
}

/** Registers the mirror of a loader's run. */
export const registerMirror = async (redis: Redis, mirror: string, profile: string): Promise<void> => {
  await redis.hset(MIRRORS, mirror, JSON.stringify({ profile, used_at: await redisNow(redis) }));
};

/** Mirrors that loaders used within thirty days, by profile. Drops the others. */
export const loadedMirrors = async (redis: Redis): Promise<readonly LoadedMirror[]> => {
  const found = Object.entries(await redis.hgetall(MIRRORS));
  if (found.length === 0) return [];
  const now = await redisNow(redis);
  const mirrors = found.flatMap(([mirror, text]) => {
    const found = parsed(text);
    return found === undefined || now - found.used_at > LASTS_MS ? [] : [{ mirror, profile: found.profile }];
  });
  const old = found.map(([mirror]) => mirror).filter((id) => !mirrors.some(({ mirror }) => mirror === id));
  if (old.length > 0) await redis.hdel(MIRRORS, ...old);
  return mirrors.sort((a, b) => a.profile.localeCompare(b.profile) || a.mirror.localeCompare(b.mirror));
};
