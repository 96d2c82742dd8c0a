// What an operator paused. One hash in Redis holds the fleet, profiles and queues with the time of the pause; a queue is
// paused by BullMQ, and the hash only adds the time. Workers ask before a sync starts; running syncs finish.
import type { Redis } from "ioredis";
import { DuckmirrorError } from "../../core/errors.ts";
import { PAUSE_KINDS, type Pause } from "../../core/report/fleet.ts";
import { didYouMean } from "../../core/text/did-you-mean.ts";
import { redisNow } from "../bullmq/redis-board.ts";
import { liveSyncs } from "../bullmq/syncs/live-syncs.ts";
import { bringForward } from "../bullmq/syncs/put-off-jobs.ts";
import { keyOf, type Queues } from "../redis/queues.ts";
import type { AllQueues, FleetQueue } from "./all-queues.ts";

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

export interface Steering {
  /** Pauses; returns false when it was paused already. Throws USAGE for an unknown queue. */
  pause(target: PauseTarget): Promise<boolean>;
  /** Resumes, and starts what waited; returns false when it was not paused. Throws USAGE for an unknown queue. */
  resume(target: PauseTarget): Promise<boolean>;
}

export const createSteering = (redis: Redis, queues: Queues, all: AllQueues): Steering => {
  const queueNamed = async (name: string | null): Promise<FleetQueue["queue"]> => {
    const list = await all.list();
    const found = list.find(({ queue }) => queue.name === name);
    if (found !== undefined) return found.queue;
    const names = list.map(({ queue }) => queue.name);
    const detail = `"${name}" is no queue.${didYouMean(name ?? "", names)} Queues: ${names.join(", ")}`;
    throw new DuckmirrorError("USAGE", { detail });
  };

  /** Syncs that the pause put off need not wait for their next check. */
  const wake = async ({ kind, name }: PauseTarget): Promise<void> => {
    if (kind === "fleet") return queues.sync.promoteJobs();
    for (const { syncId } of await liveSyncs(redis, queues, name ?? "")) await bringForward(queues, syncId);
  };

  return {
    pause: async (target) => {
      const queue = target.kind === "queue" ? await queueNamed(target.name) : null;
      const wasPaused = (await queue?.isPaused()) ?? false;
      if (wasPaused) return false;
      // The time of an earlier pause of the queue may be left, because another program resumed it.
      if (queue !== null) await redis.hdel(PAUSES, fieldOf(target));
      const isNew = (await redis.hsetnx(PAUSES, fieldOf(target), await redisNow(redis))) === 1;
      await queue?.pause();
      return isNew;
    },
    resume: async (target) => {
      const queue = target.kind === "queue" ? await queueNamed(target.name) : null;
      const wasPaused = (await queue?.isPaused()) ?? false;
      await queue?.resume();
      const noted = (await redis.hdel(PAUSES, fieldOf(target))) === 1;
      if (queue === null) await wake(target);
      return queue === null ? noted : wasPaused;
    },
  };
};
