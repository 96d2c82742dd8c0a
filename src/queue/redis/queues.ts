// THE table of queues: names, retention of finished jobs, and the common key prefix.
import { Job, type JobType, Queue, type RepeatOptions } from "bullmq";
import type { Redis } from "ioredis";
import { CronProblem, nextRun, parseCron } from "../../core/config/schedules/cron.ts";
import { unreadable } from "../requests/job-payloads.ts";

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
      // Another program made it, and makes its tick again.
      if (error instanceof CronProblem) return undefined;
      throw error;
    }
  },
};

export type Queues = Readonly<Record<QueueName, Queue>>;

/** What BullMQ throws for a job that is no job of its own: text that is no JSON, a value of another type. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof SyntaxError || (error instanceof Error && error.message.includes("WRONGTYPE"));

/**
 * BullMQ lists no job where one of them cannot be read, and any writer to Redis can make such a one. Here it is a failed job without
 * data, which can be dropped like any other.
 */
class ReadableQueue extends Queue {
  readonly #redis: Redis;

  constructor(name: QueueName, connection: Redis) {
    super(QUEUE[name], { ...ASKING, connection, defaultJobOptions: JOB_OPTIONS, settings: TICKS });
    this.#redis = connection;
  }

  override async getJob(id: string): Promise<Job | undefined> {
    try {
      return await super.getJob(id);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      const job = new Job(this, "unreadable", null, { timestamp: 1 }, id);
      const { code, message } = unreadable(id, null);
      job.failedReason = `${code}: ${message}`;
      return job;
    }
  }

  override async getJobs(types: JobType | JobType[] = [], start = 0, end = -1, asc = false): Promise<Job[]> {
    const ids = await this.getRanges([types].flat(), start, end, asc);
    const jobs = await Promise.all([...new Set(ids)].map((id) => this.getJob(id)));
    return jobs.filter((job) => job !== undefined);
  }

  override async remove(id: string): Promise<number> {
    try {
      return await super.remove(id);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      await this.#redis.del(keyOf(this.name, id));
      return super.remove(id);
    }
  }
}

/** Opens the queues for adding and reading, not for taking jobs. `onError` receives errors that no caller gets. */
export const openQueues = (connection: Redis, onError: (error: Error) => void): Queues => {
  const open = (name: QueueName) => {
    const queue = new ReadableQueue(name, connection);
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
