// Runs verifications as jobs of BullMQ: any process can request one, find it and cancel it; a worker that has the profile runs it. One per
// profile at a time, by BullMQ's deduplication. One that loses its worker, or whose worker stops, runs again.
import type { Job } from "bullmq";
import type { Redis } from "ioredis";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, isCode } from "../../core/errors.ts";
import { type Problem, problemOf } from "../../core/report/problem.ts";
import type { RequestedSync, Started } from "../../core/report/triggers.ts";
import type { Scrubber } from "../../core/secret.ts";
import { newRunId } from "../../core/text/run-id.ts";
import type { VerifyReport } from "../../sync/verify/report.ts";
import { type ActiveJob, knownProfile, postpone, readPayload } from "../redis/job-consumers.ts";
import { cancelledOf, markCancelled, type SyncMarks, timesOf } from "../redis/marks.ts";
import { JOB_OPTIONS, MOST_VERIFY_STALLS, type Queues } from "../redis/queues.ts";
import {
  parsePayload,
  syncHead,
  type VerifyOutcome,
  type VerifyPayload,
  verifyOutcome,
  verifyPayload,
  WRITTEN,
} from "../requests/job-payloads.ts";
import { ABORT, HANDED_ON_MS, scrubbed, storedProblem } from "../requests/stored-failures.ts";
import { profileOf } from "../requests/sync-requests.ts";
import { runVerification, type VerificationRunDeps, verifiedState } from "./local.ts";

/** The failure of a verification that lost its worker too often, which BullMQ words for any job. */
export const storedVerifyProblem = (failure: string, runId: string): Problem | null =>
  failure.startsWith("job stalled")
    ? problemOf(new DuckmirrorError("VERIFY_LOST", { run: runId, times: MOST_VERIFY_STALLS + 1 }))
    : storedProblem(failure);

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
  const described = async (job: Job, state: string): Promise<RequestedSync | null> => {
    const { syncId: runId, profile, askedAt } = syncHead.safeParse(job.data).data ?? payloadIn(job);
    if (!profiles.some((config) => config.profile === profile)) return null;
    const base = { runId, profile, askedAt, report: null, error: null };
    if (state === "completed") {
      const { state: ended, report, problem } = parsePayload(verifyOutcome, runId, job.returnvalue);
      return { ...base, state: ended, report, error: problem };
    }
    if (state === "failed") return { ...base, state, error: storedVerifyProblem(job.failedReason, runId) };
    const { startedAt } = await timesOf(redis, runId);
    if (startedAt !== null) return { ...base, state: "running" };
    // A worker that takes it does not start it.
    if (await isCancelled(runId))
      return { ...base, state: "cancelled", error: problemOf(new DuckmirrorError("INTERRUPTED")) };
    return { ...base, state: "queued", paused: await queue.isPaused() };
  };
  const payloadIn = (job: Job): VerifyPayload => parsePayload(verifyPayload, job.id ?? "", job.data);

  const find = async (runId: string): Promise<RequestedSync | null> => {
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
      const payload: VerifyPayload = { ...WRITTEN, syncId: runId, profile, askedAt };
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
    active: async (): Promise<readonly RequestedSync[]> => {
      const jobs: (Job | undefined)[] = await queue.getJobs([...OPEN]);
      const found = await Promise.all(jobs.map((job) => (job?.id === undefined ? null : find(job.id))));
      return found.filter((run) => run !== null).filter(({ state }) => state === "queued" || state === "running");
    },
  };
};

export interface VerifyDeps extends VerificationRunDeps {
  readonly profiles: readonly Config[];
  readonly marks: Pick<SyncMarks, "isCancelled" | "start">;
  /** Removes secrets from values stored in Redis. */
  readonly scrubber: Pick<Scrubber, "scrub">;
}

/** Delay before trying again while other work uses the mirror, ms. */
const BUSY_MS = 500;

/**
 * The report as Redis keeps it: which fields differ, but not their values, which are records of the organization. Redis is
 * read by more people than the mirror, and `forget` does not reach it.
 */
const withoutValues = (report: VerifyReport): VerifyReport => ({
  ...report,
  differences: report.differences.map((difference) =>
    difference.kind === "field" ? { ...difference, mirror: null, api: null } : difference,
  ),
});

/** Runs a verification and returns its result. Throws REDIS_UNAVAILABLE; other failures are results. */
export const processVerify = async (taken: ActiveJob, deps: VerifyDeps): Promise<VerifyOutcome> => {
  const { signal } = taken;
  const { syncId: runId, profile: name } = await readPayload(verifyPayload, taken, deps);
  const profile = await knownProfile(taken, name, deps);
  const isCancelled = async () => signal.reason === ABORT.cancelled || (await deps.marks.isCancelled(runId));
  const ended = (state: VerifyOutcome["state"], error: unknown, report: unknown = null) => {
    const problem = error === null ? null : problemOf(error);
    return scrubbed(verifyOutcome, { ...WRITTEN, state, report, problem }, deps);
  };
  const cancelled = () => ended("cancelled", new DuckmirrorError("INTERRUPTED"));

  /** Its result, or the delay after which it runs again, ms. */
  const attempt = async (): Promise<VerifyOutcome | number> => {
    if (await isCancelled()) return cancelled();
    const onRunning = () => deps.marks.start(runId);
    try {
      const { report, error } = await runVerification(profile, runId, { ...deps, signal, onRunning });
      if (error?.code === "INTERRUPTED" && !(await isCancelled())) return HANDED_ON_MS;
      return ended(verifiedState(error), error, withoutValues(report));
    } catch (error) {
      if (isCode(error, "REDIS_UNAVAILABLE")) throw error;
      if (isCode(error, "WRITER_BUSY")) return BUSY_MS;
      if (!signal.aborted) return ended("failed", error);
      return (await isCancelled()) ? cancelled() : HANDED_ON_MS;
    }
  };
  const end = await attempt();
  return typeof end === "number" ? postpone(taken, end, deps.clock.now()) : end;
};
