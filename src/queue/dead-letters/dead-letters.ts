// Lists, retries and drops dead letters: jobs that failed for good, kept for thirty days, one for a sync. A retry of a sync requests a new
// one of the streams that failed; a retry of a delivery, an alert or a verification repeats it. Also pauses and resumes queues.
import type { Job, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { z } from "zod";
import { DuckmirrorError } from "../../core/errors.ts";
import type { Problem } from "../../core/report/problem.ts";
import type { Started } from "../../core/report/triggers.ts";
import { didYouMean } from "../../core/text/did-you-mean.ts";
import { askAlert } from "../alerts/redis.ts";
import { askDelivery } from "../deliveries/redis.ts";
import { dropPause, notePause, type PauseTarget } from "../fleet/fleet.ts";
import { QUEUE, type QueueName, type Queues } from "../redis/queues.ts";
import {
  alertPayload,
  deliverPayload,
  exportPayload,
  keptSync,
  parsePayload,
  syncPayload,
  verifyPayload,
} from "../requests/job-payloads.ts";
import { storedProblem } from "../requests/stored-failures.ts";
import type { Triggers } from "../requests/sync-requests.ts";
import { liveSyncs } from "../syncs/redis/live-syncs.ts";
import { bringForward } from "../syncs/redis/start-sync.ts";
import { storedVerifyProblem } from "../verifications/redis.ts";

// Pauses and resumes the fleet, a profile or a queue, and starts what a pause had put off.

export interface QueueControl {
  /** Pauses; returns false when it was paused already. Throws USAGE for an unknown queue. */
  pause(target: PauseTarget): Promise<boolean>;
  /** Resumes, and starts what waited; returns false when it was not paused. Throws USAGE for an unknown queue. */
  resume(target: PauseTarget): Promise<boolean>;
}

export const createQueueControl = (redis: Redis, queues: Queues): QueueControl => {
  const queueNamed = (name: string | null): Queue => {
    const found = Object.values(queues).find((queue) => queue.name === name);
    if (found !== undefined) return found;
    const names = Object.values(queues).map((queue) => queue.name);
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
      const queue = target.kind === "queue" ? queueNamed(target.name) : null;
      const wasPaused = (await queue?.isPaused()) ?? false;
      if (wasPaused) return false;
      // The time of an earlier pause of the queue may be left, because another program resumed it.
      if (queue !== null) await dropPause(redis, target);
      const isNew = await notePause(redis, target);
      await queue?.pause();
      return isNew;
    },
    resume: async (target) => {
      const queue = target.kind === "queue" ? queueNamed(target.name) : null;
      const wasPaused = (await queue?.isPaused()) ?? false;
      await queue?.resume();
      const noted = await dropPause(redis, target);
      if (queue === null) await wake(target);
      return queue === null ? noted : wasPaused;
    },
  };
};

export interface DeadLetter {
  readonly id: string;
  readonly queue: QueueName;
  /** `sync`, `export`, `deliver`, `alert`, `tick` or `verify`. */
  readonly name: string;
  /** null when its payload is unreadable. */
  readonly profile: string | null;
  /** Id of its sync; null for a tick and an alert. */
  readonly runId: string | null;
  /** ms since the epoch. */
  readonly failedAt: number;
  readonly problem: Problem | null;
}

const QUEUES: readonly QueueName[] = ["sync", "export", "deliver", "alert", "schedule", "verify"];
/** Most letters listed, retried or dropped per queue at once; as many are kept. */
const MOST = 5_000;

const profiled = z.object({ profile: z.string() });

/** The sync of a job; its id begins with it, but for deliveries. */
const runIdOf = (queue: QueueName, { id = "", data }: Job): string =>
  (queue === QUEUE.deliver ? deliverPayload.safeParse(data).data?.syncId : id.split(".")[0]) ?? id;

const letterOf = (queue: QueueName, job: Job): DeadLetter => {
  const id = job.id ?? "";
  const failure = job.failedReason ?? "";
  return {
    id,
    queue,
    name: job.name,
    profile: profiled.safeParse(job.data).data?.profile ?? null,
    runId: queue === "schedule" || queue === "alert" ? null : runIdOf(queue, job),
    failedAt: job.finishedOn ?? job.timestamp,
    problem: queue === "verify" ? storedVerifyProblem(failure, id) : storedProblem(failure),
  };
};

/** Dead letters, newest first. */
export const deadLetters = async (queues: Queues): Promise<readonly DeadLetter[]> => {
  const found = await Promise.all(
    QUEUES.map(async (name) => {
      const jobs: Job[] = await queues[name].getFailed(0, MOST - 1);
      return jobs.map((job) => letterOf(name, job));
    }),
  );
  return found.flat().sort((a, b) => b.failedAt - a.failedAt);
};

/** The request to repeat; null: no sync. Throws JOB_VERSION. */
const askOf = (name: Exclude<QueueName, "verify" | "deliver" | "alert">, job: Job) => {
  const id = job.id ?? "";
  const anew = { full: false, idempotencyKey: null };
  // The next tick follows anyway.
  if (name === QUEUE.schedule) return null;
  if (name === QUEUE.export)
    return { ...anew, streams: [], profile: parsePayload(exportPayload, id, job.data).profile };
  const { streams, profile, full, named, reset, datedAfter: since } = parsePayload(syncPayload, id, job.data);
  const report = keptSync.safeParse(job.progress).data?.outcome?.report;
  const failed = report?.streams.filter(({ status }) => status === "failed").map(({ stream }) => stream) ?? [];
  if (reset === undefined)
    return { ...anew, streams: failed.length > 0 ? failed : named ? streams : [], profile, full, since };
  const own = failed.length === 0 ? reset : reset.filter((list) => failed.includes(list.split(":")[0] ?? list));
  return { ...anew, streams: [], profile, full, reset: own };
};

const askAgain = async (name: QueueName, job: Job, triggers: Triggers, queues: Queues): Promise<Started | null> => {
  if (name === QUEUE.deliver) {
    await askDelivery(queues, parsePayload(deliverPayload, job.id ?? "", job.data));
    return null;
  }
  if (name === QUEUE.alert) {
    await askAlert(queues, parsePayload(alertPayload, job.id ?? "", job.data));
    return null;
  }
  if (name === QUEUE.verify) {
    const { profile } = parsePayload(verifyPayload, job.id ?? "", job.data);
    return (await triggers.verify?.({ profile })) ?? null;
  }
  const ask = askOf(name, job);
  return ask === null ? null : triggers.start(ask);
};

/**
 * Retries a dead letter and drops it; returns the id of the new sync, null if none is needed. Throws RUN_UNKNOWN,
 * JOB_VERSION, and errors of `Triggers.start`; then the letter stays.
 */
export const retryDeadLetter = async (queues: Queues, triggers: Triggers, id: string): Promise<string | null> => {
  for (const name of QUEUES) {
    const job: Job | undefined = await queues[name].getJob(id);
    if (job === undefined || !(await job.isFailed())) continue;
    const started = await askAgain(name, job, triggers, queues);
    await job.remove();
    return started?.runId ?? null;
  }
  throw new DuckmirrorError("RUN_UNKNOWN", { run: id });
};

/** Which letters: by id, or all of these queues. */
export type DeadLetterChoice =
  | { readonly by: "id"; readonly ids: readonly string[] }
  | { readonly by: "queue"; readonly queues: readonly string[] };

const lettersIn = async (queue: Queue): Promise<readonly string[]> => {
  const jobs: (Job | undefined)[] = await queue.getFailed(0, MOST - 1);
  return jobs.flatMap((job) => (job?.id === undefined ? [] : [job.id]));
};

/** The queue that has the letter. Throws RUN_UNKNOWN. */
const queueWith = async (list: readonly Queue[], id: string): Promise<Queue> => {
  for (const queue of list) if ((await queue.getJobState(id)) === "failed") return queue;
  throw new DuckmirrorError("RUN_UNKNOWN", { run: id });
};

/** Returns the dropped letters. Throws RUN_UNKNOWN for an id that is no letter; then nothing is dropped. */
export const dropDeadLetters = async (
  queues: Queues,
  choice: DeadLetterChoice,
): Promise<readonly { readonly id: string; readonly queue: string }[]> => {
  const list = Object.values(queues);
  const chosen: { readonly id: string; readonly queue: Queue }[] = [];
  if (choice.by === "id") for (const id of choice.ids) chosen.push({ id, queue: await queueWith(list, id) });
  else
    for (const queue of list.filter(({ name }) => choice.queues.includes(name)))
      for (const id of await lettersIn(queue)) chosen.push({ id, queue });
  for (const { id, queue } of chosen) await queue.remove(id);
  return chosen.map(({ id, queue }) => ({ id, queue: queue.name }));
};
