// Verifications as jobs in Redis: any process can ask for one, find it and cancel it; a worker that has the profile runs it.
// One per profile at a time, by BullMQ's deduplication, which ends with the job.
import type { Job } from "bullmq";
import type { Redis } from "ioredis";
import { problemOf } from "../../../jobs/family.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { AskedSync, Started } from "../../core/report/triggers.ts";
import { newRunId } from "../../core/text/run-id.ts";
import { profileOf } from "../asking/asks.ts";
import {
  parsePayload,
  syncHead,
  type VerifyPayload,
  verifyOutcome,
  verifyPayload,
  WRITTEN,
} from "../asking/payloads.ts";
import { JOB_OPTIONS, MOST_VERIFY_STALLS, type Queues } from "../redis/queues.ts";
import { storedVerifyProblem } from "../verifying/lost.ts";
import { cancelledOf, markCancelled, timesOf } from "./redis-board.ts";

export interface QueuedVerificationsDeps {
  readonly redis: Redis;
  readonly queues: Queues;
  readonly profiles: readonly Config[];
  readonly clock: Pick<Clock, "now">;
  /** In [0, 1). */
  readonly random: () => number;
}

const OPEN = ["waiting", "active", "delayed", "prioritized"] as const;

export const createQueuedVerifications = ({ redis, queues, profiles, clock, random }: QueuedVerificationsDeps) => {
  const { verify: queue } = queues;

  const isCancelled = async (runId: string) => (await cancelledOf(redis, [runId])).has(runId);

  /** Null: of a profile that is not among those of this process, whose keys and sessions say nothing about it. */
  const described = async (job: Job, state: string): Promise<AskedSync | null> => {
    const { syncId: runId, profile, askedAt } = syncHead.safeParse(job.data).data ?? payloadIn(job);
    if (!profiles.some((config) => config.profile === profile)) return null;
    const base = { runId, profile, askedAt, report: null, error: null };
    if (state === "completed") {
      const { state: ended, report, problem } = parsePayload(verifyOutcome, runId, job.returnvalue);
      return { ...base, state: ended, report, error: problem };
    }
    if (state === "failed")
      return { ...base, state, error: storedVerifyProblem(job.failedReason, runId, MOST_VERIFY_STALLS + 1) };
    const { startedAt } = await timesOf(redis, runId);
    if (startedAt !== null) return { ...base, state: "running" };
    // A worker that takes it does not start it.
    if (await isCancelled(runId))
      return { ...base, state: "cancelled", error: problemOf(new DuckmirrorError("INTERRUPTED")) };
    return { ...base, state: "queued", paused: await queue.isPaused() };
  };
  const payloadIn = (job: Job): VerifyPayload => parsePayload(verifyPayload, job.id ?? "", job.data);

  const find = async (runId: string): Promise<AskedSync | null> => {
    // Read the state first: a job read after its end has its result.
    const state = await queue.getJobState(runId);
    const job: Job | undefined = state === "unknown" ? undefined : await queue.getJob(runId);
    return job === undefined ? null : described(job, state);
  };

  return {
    /** Throws PROFILE_UNKNOWN. */
    start: async (name: string | null): Promise<Started> => {
      const { profile } = profileOf(profiles, name);
      const askedAt = clock.now();
      const runId = newRunId(askedAt, random);
      const payload: VerifyPayload = { ...WRITTEN.ask, syncId: runId, profile, askedAt };
      const job = await queue.add("verify", payload, { ...JOB_OPTIONS, jobId: runId, deduplication: { id: profile } });
      return { runId: job.id ?? runId, joined: job.id !== runId };
    },
    find,
    /** Returns false when it is unknown, of another profile, or has ended. */
    cancel: async (runId: string): Promise<boolean> => {
      const found = await find(runId);
      if (found?.state !== "queued" && found?.state !== "running") return false;
      const job: Job | undefined = await queue.getJob(runId);
      await markCancelled(redis, runId);
      // A later request starts another verification.
      await job?.removeDeduplicationKey();
      if (await job?.isDelayed()) await job?.promote().catch(() => undefined);
      return true;
    },
    /** Queued and running ones of these profiles. */
    active: async (): Promise<readonly AskedSync[]> => {
      const jobs: (Job | undefined)[] = await queue.getJobs([...OPEN]);
      const found = await Promise.all(jobs.map((job) => (job?.id === undefined ? null : find(job.id))));
      return found.filter((run) => run !== null).filter(({ state }) => state === "queued" || state === "running");
    },
  };
};
