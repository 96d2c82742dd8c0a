// The fleet in Redis: registers a worker process as a member, and reads members, queues and pauses. Notes and drops pauses.
import type { Job, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { z } from "zod";
import { endsWithin } from "../../core/async/waiting.ts";
import type { Clock } from "../../core/clock.ts";
import {
  asSeen,
  type Fleet,
  type Member,
  type MemberIdentity,
  PAUSE_KINDS,
  type Pause,
  type QueueState,
  type UnableProfile,
} from "../../core/report/fleet.ts";
import { redisNow } from "../redis/queue-connections.ts";
import { keyOf, type Queues } from "../redis/queues.ts";
import { VERSION } from "../requests/job-payloads.ts";
import { every } from "../requests/keyed-tasks.ts";

// The register of the fleet: each worker process has a key in Redis that it renews every few seconds and that expires
// without renewal. A set is the index of the keys; an id in it without a key is a member that is gone.

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
  reads: z.int(),
  unable: z.array(z.object({ profile: z.string(), code: z.string(), message: z.string(), hint: z.string() })),
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

// Pauses that operators made. One Redis hash holds the paused fleet, profiles and queues with the time of each pause. BullMQ
// pauses queues; for them the hash only adds the time. Workers check the pauses before a sync starts; running syncs finish.

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

// State of a queue of the fleet: its jobs by state, and how long the oldest one has waited.

/** The first job of a state; jobs of equal priority are in order of arrival. */
const firstOf = async (queue: Queue, state: "waiting" | "prioritized"): Promise<Job[]> =>
  queue.getJobs([state], 0, 0, true);

/** `now`: ms by Redis's clock. */
const stateOf = async (queue: Queue, now: number): Promise<QueueState> => {
  const [counts, paused, ...firsts] = await Promise.all([
    queue.getJobCounts("waiting", "prioritized", "active", "delayed", "failed", "waiting-children"),
    queue.isPaused(),
    firstOf(queue, "waiting"),
    firstOf(queue, "prioritized"),
  ]);
  const { waiting = 0, prioritized = 0, active = 0, delayed = 0, failed = 0, "waiting-children": blocked = 0 } = counts;
  // A job that was taken meanwhile is read as nothing.
  const added = firsts.flat().flatMap((job: Job | undefined) => (job === undefined ? [] : [job.timestamp]));
  return {
    name: queue.name,
    waiting: waiting + prioritized,
    active,
    delayed,
    blocked,
    failed,
    paused,
    oldest_waiting_ms: added.length === 0 ? null : Math.max(0, now - Math.min(...added)),
  };
};

export const readFleet = async (redis: Redis, opened: Queues): Promise<Fleet> => {
  const now = await redisNow(redis);
  const [queues, members] = await Promise.all([
    Promise.all(Object.values(opened).map((queue) => stateOf(queue, now))),
    readMembers(redis),
  ]);
  const pausedQueues = queues.filter(({ paused }) => paused).map(({ name }) => name);
  return {
    now,
    queues,
    members: members.map((member) => asSeen(member, now)),
    paused: await readPauses(redis, pausedQueues),
  };
};
