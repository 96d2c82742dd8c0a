// Pauses that operators made. One Redis hash holds the paused fleet, profiles and queues with the time of each pause. BullMQ
// pauses queues; for them the hash only adds the time. Workers check the pauses before a sync starts; running syncs finish.
import type { Redis } from "ioredis";
import { PAUSE_KINDS, type Pause } from "../../core/report/fleet.ts";
import { keyOf } from "../redis/queues.ts";
import { redisNow } from "../redis/redis-now.ts";

const PAUSES = keyOf("paused");
const FLEET = "fleet";

/** What to pause or resume. */
export type PauseTarget = Pick<Pause, "kind" | "name">;

const fieldOf = ({ kind, name }: PauseTarget) => (kind === "fleet" ? FLEET : `${kind}:${name}`);

/** The entries of the hash; a queue's entry may be out of date. */
const readAll = async (redis: Redis): Promise<readonly Pause[]> =>
  Object.entries(await redis.hgetall(PAUSES)).flatMap(([field, since]): Pause[] => {
    const colon = field.indexOf(":");
    const kind = PAUSE_KINDS.find((known) => known === (colon < 0 ? field : field.slice(0, colon)));
    return kind === undefined ? [] : [{ kind, name: colon < 0 ? null : field.slice(colon + 1), since: Number(since) }];
  });

const rank = ({ kind }: Pause) => PAUSE_KINDS.indexOf(kind);

/** Everything that is paused: fleet, profiles, queues. `pausedQueues`: as BullMQ has it. */
export const readPauses = async (redis: Redis, pausedQueues: readonly string[]): Promise<readonly Pause[]> => {
  const found = await readAll(redis);
  const queues = pausedQueues.map((name): Pause => {
    const known = found.find((pause) => pause.kind === "queue" && pause.name === name);
    return known ?? { kind: "queue", name, since: null };
  });
  return [...found.filter(({ kind }) => kind !== "queue"), ...queues].sort(
    (a, b) => rank(a) - rank(b) || (a.name ?? "").localeCompare(b.name ?? ""),
  );
};

/** Whether the profile or the whole fleet is paused. Paused queues do not count. */
export const isPaused = async (redis: Redis, profile: string): Promise<boolean> => {
  const marks = await redis.hmget(PAUSES, FLEET, fieldOf({ kind: "profile", name: profile }));
  return marks.some((mark) => mark !== null);
};

/** Notes a pause of now. Returns false when it was noted already. */
export const notePause = async (redis: Redis, target: PauseTarget): Promise<boolean> =>
  (await redis.hsetnx(PAUSES, fieldOf(target), await redisNow(redis))) === 1;

/** Drops the note of a pause. Returns false when there was none. */
export const dropPause = async (redis: Redis, target: PauseTarget): Promise<boolean> =>
  (await redis.hdel(PAUSES, fieldOf(target))) === 1;
