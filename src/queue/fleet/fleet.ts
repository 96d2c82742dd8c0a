// The fleet as a worker process sees it: it registers itself, and reads queues, members and pauses.
import type { Job, Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import { asSeen, type Fleet, PAUSE_KINDS, type Pause, type QueueState } from "../../core/report/fleet.ts";
import { atRedis, redisNow } from "../redis/queue-connections.ts";
import { keyOf, type Queues } from "../redis/queues.ts";
import { joinFleet, type MembershipDeps, readMembers } from "./members.ts";

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

export interface InFleet {
  /** Throws REDIS_UNAVAILABLE. */
  read(): Promise<Fleet>;
  /** Removes this process from the register. */
  leave(): Promise<void>;
}

/** Registers this process. */
export const enterFleet = (
  connection: RedisConnection,
  queues: Queues,
  membership: Omit<MembershipDeps, "redis">,
): InFleet => {
  const { redis } = connection;
  return {
    read: () => atRedis(connection, () => readFleet(redis, queues)),
    leave: joinFleet({ ...membership, redis }),
  };
};
