// THE table of queues: their names, what is kept of finished jobs, and the key prefix they share.
import { Queue } from "bullmq";
import type { Redis } from "ioredis";

/** In braces: all keys lie in one slot of a Redis Cluster, because a flow is added in one step. */
export const PREFIX = "{duckmirror}";

/** Families of a sync, its end, its exports, and the ticks of schedules. */
export const QUEUE = { sync: "sync", publish: "publish", export: "export", schedule: "schedule" } as const;
export type QueueName = keyof typeof QUEUE;

const DAY_S = 86_400;

/**
 * One attempt: only lost workers are made up for, by BullMQ's check for stalled jobs; what the service does is the
 * engine's to retry. Dead letters are kept for thirty days.
 */
export const JOB_OPTIONS = {
  attempts: 1,
  removeOnComplete: { age: DAY_S, count: 1_000 },
  removeOnFail: { age: 30 * DAY_S, count: 5_000 },
} as const;

/**
 * The job that ends a sync holds its report: it is kept for a day, however many syncs a day ends; one takes about 4 KiB.
 * The number is a bound of Redis's memory, about 1 GiB.
 */
export const END_OPTIONS = { ...JOB_OPTIONS, removeOnComplete: { age: DAY_S, count: 250_000 } } as const;

/** Unclean ends of workers a job survives: the work is resumed where its cursor stands, so many are harmless. */
export const MOST_STALLS = 20;

/** Where a value or job lies. */
export const keyOf = (...parts: readonly string[]): string => [PREFIX, ...parts].join(":");

/** Id of a family's job. A colon is BullMQ's own. */
export const familyJobId = (syncId: string, family: string): string => `${syncId}.${family}`;

export type Queues = Readonly<Record<QueueName, Queue>>;

/** Opens the queues for adding and looking; nothing is taken from them. `onError` hears what no caller is told. */
export const openQueues = (connection: Redis, onError: (error: Error) => void): Queues => {
  const open = (name: QueueName) => {
    const queue = new Queue(QUEUE[name], { connection, prefix: PREFIX, defaultJobOptions: JOB_OPTIONS });
    queue.on("error", onError);
    return queue;
  };
  return { sync: open("sync"), publish: open("publish"), export: open("export"), schedule: open("schedule") };
};

const DEPTHS = ["waiting", "active", "delayed", "waiting-children", "failed"] as const;

/** State -> jobs in it, over all queues. */
export const depthsOf = async (queues: Queues): Promise<Readonly<Record<string, number>>> => {
  const counts = await Promise.all(Object.values(queues).map((queue) => queue.getJobCounts(...DEPTHS)));
  return Object.fromEntries(
    DEPTHS.map((state) => [state, counts.reduce((sum, count) => sum + (count[state] ?? 0), 0)]),
  );
};

export const closeQueues = async (queues: Queues): Promise<void> => {
  await Promise.allSettled(Object.values(queues).map((queue) => queue.close()));
};
