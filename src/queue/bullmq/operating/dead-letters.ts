// Dead letters: failed jobs, kept for thirty days. Retrying one requests a new sync of its streams, because its flow
// has ended without it; of a delivery, an alert pass or a verification, that work anew.
import type { Job } from "bullmq";
import { familyNamed } from "../../../../jobs/families.ts";
import type { Problem } from "../../../../jobs/family.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { Started } from "../../../core/report/triggers.ts";
import { askAlert } from "../../alerting/queued-alerts.ts";
import type { Triggers } from "../../asking/asks.ts";
import { storedProblem } from "../../asking/failures.ts";
import {
  alertPayload,
  deliverPayload,
  exportPayload,
  familyPayload,
  parsePayload,
  syncPayload,
  verifyPayload,
} from "../../asking/payloads.ts";
import { askDelivery } from "../../delivering/queued-deliveries.ts";
import { MOST_VERIFY_STALLS, QUEUE, type QueueName, type Queues } from "../../redis/queues.ts";
import { storedVerifyProblem } from "../../verifying/lost.ts";
import { isLive } from "../syncs/live-syncs.ts";

export interface DeadLetter {
  readonly id: string;
  readonly queue: QueueName;
  /** Family, `publish`, `export`, `deliver`, `alert`, `tick` or `verify`. */
  readonly name: string;
  /** null when its payload is unreadable. */
  readonly profile: string | null;
  /** Id of its sync; null for a tick and an alert. */
  readonly runId: string | null;
  /** ms since the epoch. */
  readonly failedAt: number;
  readonly problem: Problem | null;
}

const QUEUES: readonly QueueName[] = ["sync", "publish", "export", "deliver", "alert", "schedule", "verify"];
/** Most letters listed and retried per queue. */
const MOST = 5_000;

const profileIn = (payload: unknown): string | null =>
  typeof payload === "object" && payload !== null && "profile" in payload && typeof payload.profile === "string"
    ? payload.profile
    : null;

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
    profile: profileIn(job.data),
    runId: queue === "schedule" || queue === "alert" ? null : runIdOf(queue, job),
    failedAt: job.finishedOn ?? job.timestamp,
    problem: queue === "verify" ? storedVerifyProblem(failure, id, MOST_VERIFY_STALLS + 1) : storedProblem(failure),
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
  if (name === QUEUE.publish) {
    const { streams, profile, full, named, reset, datedAfter: since } = parsePayload(syncPayload, id, job.data);
    return { ...anew, streams: named && reset === undefined ? streams : [], profile, full, reset, since };
  }
  const { family, streams, profile, full, reset, datedAfter: since } = parsePayload(familyPayload, id, job.data);
  const own = familyNamed(family)?.streams.filter((stream) => streams.includes(stream)) ?? [];
  if (reset === undefined) return { ...anew, streams: own, profile, full, since };
  const lists = reset.filter((list) => own.some((stream) => stream === list.split(":")[0]));
  return { ...anew, streams: [], profile, full, reset: lists };
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

/** Whether a letter's sync has not ended: its end still reads the letter. */
export const isPartOfLive = async (queues: Queues, queue: string, id: string): Promise<boolean> =>
  queue === QUEUE.sync && (await isLive(queues, id.split(".")[0] ?? id));

/**
 * Retries a dead letter and drops it, unless its sync has not ended; returns the id of the new sync, null if none is
 * needed. Throws RUN_UNKNOWN, JOB_VERSION, and errors of `Triggers.start`; then the letter stays.
 */
export const retryLetter = async (queues: Queues, triggers: Triggers, id: string): Promise<string | null> => {
  for (const name of QUEUES) {
    const job: Job | undefined = await queues[name].getJob(id);
    if (job === undefined || !(await job.isFailed())) continue;
    const started = await askAgain(name, job, triggers, queues);
    if (!(await isPartOfLive(queues, name, id))) await job.remove();
    return started?.runId ?? null;
  }
  throw new DuckmirrorError("RUN_UNKNOWN", { run: id });
};
