// THE table of queues: names, retention of finished jobs, and the common key prefix.
import { Queue, type RepeatOptions } from "bullmq";
import type { Redis } from "ioredis";
import { CronProblem, parseCron } from "../../core/config/schedules/cron.ts";
import { nextRun } from "../../core/config/schedules/next-run.ts";

/** In braces, so that all keys are in one slot of a Redis Cluster, because BullMQ's scripts use several of them. */
export const PREFIX = "{duckmirror}";

/**
 * Options of everything that adds and reads jobs. BullMQ first waits for the connection and asks for Redis's version, and
 * keeps the failure of that for good: a queue opened in the moment in which Redis goes away would fail until its process
 * ends. We check the version when we connect.
 */
export const ASKING = { prefix: PREFIX, skipVersionCheck: true, skipWaitingForReady: true } as const;

/** Syncs, their exports, deliveries, alerts, the ticks of schedules, and verifications. */
export const QUEUE = {
  sync: "sync",
  export: "export",
  deliver: "deliver",
  alert: "alert",
  schedule: "schedule",
  verify: "verify",
} as const;
export type QueueName = keyof typeof QUEUE;

const DAY_S = 86_400;

/**
 * One attempt. BullMQ's check for stalled jobs makes up for lost workers; the engine retries requests. Finished jobs
 * are kept for a day, dead letters for thirty.
 */
export const JOB_OPTIONS = {
  attempts: 1,
  removeOnComplete: { age: DAY_S, count: 1_000 },
  removeOnFail: { age: 30 * DAY_S, count: 5_000 },
} as const;

/**
 * The job of a sync holds its report: it is kept for a day, however many syncs a day ends; one takes about 4 KiB.
 * The number is a bound of Redis's memory, about 1 GiB.
 */
export const SYNC_OPTIONS = { ...JOB_OPTIONS, removeOnComplete: { age: DAY_S, count: 250_000 } } as const;

/**
 * BullMQ priority of a sync that only schedules asked for. Syncs without a priority, which persons asked for,
 * are taken before them.
 */
export const SCHEDULED_PRIORITY = 10;

/** Number of lost workers that a job survives. Many are harmless, because work resumes at its cursor. */
export const MOST_STALLS = 20;

/** Number of lost workers that a verification survives. It starts anew each time, and may spend its credits again. */
export const MOST_VERIFY_STALLS = 2;

/** Redis key of a value or job. */
export const keyOf = (...parts: readonly string[]): string => [PREFIX, ...parts].join(":");

/** The next tick of a scheduler, by our meaning of its expression and not by BullMQ's (docs/decisions/configuration.md). */
export const TICKS = {
  repeatStrategy: (now: number, { pattern = "", tz = "UTC" }: RepeatOptions): number | undefined => {
    try {
      return nextRun(parseCron(pattern), tz, now) ?? undefined;
    } catch (error) {
      // An older program made it, and makes its tick again.
      if (error instanceof CronProblem) return undefined;
      throw error;
    }
  },
};

export type Queues = Readonly<Record<QueueName, Queue>>;

/** Opens the queues for adding and reading, not for taking jobs. `onError` receives errors that no caller gets. */
export const openQueues = (connection: Redis, onError: (error: Error) => void): Queues => {
  const open = (name: QueueName) => {
    const queue = new Queue(QUEUE[name], { ...ASKING, connection, defaultJobOptions: JOB_OPTIONS, settings: TICKS });
    queue.on("error", onError);
    return queue;
  };
  return {
    sync: open("sync"),
    export: open("export"),
    deliver: open("deliver"),
    alert: open("alert"),
    schedule: open("schedule"),
    verify: open("verify"),
  };
};

export const closeQueues = async (queues: Queues): Promise<void> => {
  await Promise.allSettled(Object.values(queues).map((queue) => queue.close()));
};
