// Runs the job of a sync: its streams, the publish, and the storing of the report. sync-life.ts decides whether the sync ends after a run
// or runs again. A sync that failed, or some of its streams, is a dead letter, and its report is kept with the job.
import { DelayedError } from "bullmq";
import { openStreams, type publishJob, type RunResult, runResultOf } from "../../../../jobs/publish.ts";
import type { Sessions } from "../../../../jobs/session.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { isCode } from "../../../core/errors.ts";
import type { Problem } from "../../../core/report/problem.ts";
import type { Scrubber } from "../../../core/secret.ts";
import { inSpan, noTracer, type Tracer } from "../../../core/tracing.ts";
import { type ActiveJob, knownProfile, leaveToNewerWorker, postpone, readPayload } from "../../redis/job-consumers.ts";
import type { SyncMarks } from "../../redis/marks.ts";
import {
  isForOthers,
  keptSync,
  type StoredOutcome,
  SYNC_WRITTEN,
  type SyncPayload,
  syncHead,
  syncOutcome,
  syncPayload,
  WRITTEN,
} from "../../requests/job-payloads.ts";
import { ABORT, BUSY_MS, HANDED_ON_MS, scrubbed } from "../../requests/stored-failures.ts";
import { errorOf } from "../../requests/sync-requests.ts";
import { type NextStep, stepAfter, stepAfterError, timeLeftOf, unsettled } from "../sync-life.ts";

/**
 * Why a sync may not start yet: it is paused, one that a person asked for is taken first, or it is offered to the worker that
 * had the mirror last.
 */
export type HeldBack = "paused" | "behind" | "elsewhere";

/**
 * Time until a sync that is held back is checked again, ms. Resuming makes its job due at once, so a paused one is checked
 * rarely.
 */
const HELD_BACK_MS: Readonly<Record<HeldBack, number>> = { paused: 30_000, behind: BUSY_MS, elsewhere: 300 };

export interface SyncJobDeps {
  readonly profiles: readonly Config[];
  readonly sessions: Pick<Sessions, "run">;
  readonly marks: SyncMarks;
  /** Why the sync may not start yet; null: it may. Unset: nothing is held back. */
  readonly holdBack?: (sync: Pick<SyncPayload, "syncId" | "profile">) => Promise<HeldBack | null>;
  readonly publish: typeof publishJob;
  /** Asks for what follows a publish: exports, deliveries, alerts; unset: nothing. */
  readonly askNext?: (sync: SyncPayload, profile: Config) => Promise<void>;
  /** Called with the end of a sync. */
  readonly onEnd?: (sync: SyncPayload, outcome: StoredOutcome) => void;
  readonly clock: Clock;
  /** Removes secrets from values stored in Redis. */
  readonly scrubber: Pick<Scrubber, "scrub">;
  readonly tracer?: Tracer;
}

/** Runs in order; of one run, the later result counts. */
const joined = (earlier: readonly RunResult[], later: readonly RunResult[]): RunResult[] => [
  ...new Map([...earlier, ...later].map((result) => [result.report.run_id, result])).values(),
];

/**
 * Puts a paused job off. A pause that ended meanwhile did not find the job among the delayed ones, so it is asked for once
 * more. Never returns.
 */
const putOffPaused = async (taken: ActiveJob, ms: number, isPaused: () => Promise<boolean>, now: number) => {
  await taken.job.moveToDelayed(now + ms, taken.token);
  // Where another worker has the job by now, it is due already.
  if (!(await isPaused())) await taken.job.promote().catch(() => undefined);
  throw new DelayedError();
};

/** Puts a job off that is paused and that this worker could not run: its patience does not count during a pause. */
const holdBackStrange = async (taken: ActiveJob, { holdBack, profiles, clock }: SyncJobDeps): Promise<void> => {
  const { data } = taken.job;
  const head = syncHead.safeParse(data).data;
  if (head === undefined || holdBack === undefined) return;
  if (!isForOthers(data) && profiles.some(({ profile }) => profile === head.profile)) return;
  const isPaused = async () => (await holdBack(head)) === "paused";
  if (await isPaused()) await putOffPaused(taken, HELD_BACK_MS.paused, isPaused, clock.now());
};

/** Puts the job off while its sync is held back. A sync whose time is over ends all the same. */
const putOffHeld = async (
  taken: ActiveJob,
  sync: SyncPayload,
  leftMs: number,
  { holdBack, clock }: SyncJobDeps,
): Promise<void> => {
  const held = leftMs <= 0 ? null : ((await holdBack?.(sync)) ?? null);
  if (held === null) return;
  const heldMs = Math.min(HELD_BACK_MS[held], leftMs);
  if (held !== "paused") return postpone(taken, heldMs, clock.now());
  const isPaused = async () => (await holdBack?.(sync)) === "paused";
  return putOffPaused(taken, heldMs, isPaused, clock.now());
};

/** A sync whose job this worker has. */
interface Work {
  readonly taken: ActiveJob;
  readonly sync: SyncPayload;
  readonly profile: Config;
  readonly deps: SyncJobDeps;
}

const isCancelled = async ({ taken: { signal }, sync, deps }: Work): Promise<boolean> =>
  signal.reason === ABORT.cancelled || (await deps.marks.isCancelled(sync.syncId));

const keep = ({ taken: { job }, deps }: Work, results: readonly RunResult[], outcome: StoredOutcome | null) =>
  job.updateProgress(scrubbed(keptSync, { ...SYNC_WRITTEN, results: [...results], outcome }, deps));

/** Runs what earlier runs left open. Returns all runs, and what follows from them. */
const runOpen = async (
  work: Work,
  earlier: readonly RunResult[],
): Promise<readonly [readonly RunResult[], NextStep]> => {
  const { taken, sync, profile, deps } = work;
  const { syncId, streams } = sync;
  const timeLeft = async () => timeLeftOf(await deps.marks.timesOf(syncId), profile.syncTimeoutMs);
  const open = openStreams(streams, unsettled(earlier, streams));
  if (open.length === 0) return [earlier, stepAfter(earlier, streams, false)];
  if (await isCancelled(work)) return [earlier, stepAfter(earlier, streams, true)];
  await putOffHeld(taken, sync, (await timeLeft()).leftMs ?? Number.POSITIVE_INFINITY, deps);
  let results: readonly RunResult[];
  try {
    const readLeftMs = async () => (await timeLeft()).leftMs;
    const ask = { ...sync, ...(await timeLeft()), readLeftMs, profile, streams: open, signal: taken.signal };
    results = joined(earlier, (await deps.sessions.run(ask)).map(runResultOf));
  } catch (error) {
    // Another request may have extended the deadline while it waited for its turn.
    const isExtended = isCode(error, "DURATION_SPENT") && ((await timeLeft()).leftMs ?? 1) > 0;
    if (isExtended) return [earlier, { kind: "again", afterMs: HANDED_ON_MS }];
    return [earlier, stepAfterError(error, await isCancelled(work))];
  }
  // Before the publish, so that no worker after this one reads the lists again.
  await keep(work, results, null);
  return [results, stepAfter(results, streams, await isCancelled(work))];
};

/** Publishes, asks for what follows, and returns what is stored as the end of the sync. */
const publishEnd = async (work: Work, results: readonly RunResult[], problem: Problem | null) => {
  const { taken, sync, profile, deps } = work;
  const { clock, publish, askNext, tracer = noTracer } = deps;
  const cancelled = await isCancelled(work);
  const attributes = { "duckmirror.profile": sync.profile, "duckmirror.run.id": sync.syncId };
  const ended = { ...sync, results, problem };
  try {
    const end = await inSpan(tracer, "job publish", () => publish(profile, ended, { clock, signal: taken.signal }), {
      traceparent: sync.traceparent,
      attributes,
    });
    await askNext?.(sync, profile);
    const outcome = { ...WRITTEN, ...end, cancelled: cancelled && end.report.status === "interrupted" };
    return scrubbed(syncOutcome, outcome, deps);
  } catch (error) {
    if (isCode(error, "WRITER_BUSY") || isCode(error, "INTERRUPTED")) return postpone(taken, BUSY_MS, clock.now());
    throw error;
  }
};

/** Runs a sync to its end and returns its outcome. Throws the problem of a sync that failed, also in part. */
export const processSync = async (taken: ActiveJob, deps: SyncJobDeps): Promise<StoredOutcome> => {
  const { job } = taken;
  const { clock } = deps;
  await holdBackStrange(taken, deps);
  const sync = await readPayload(syncPayload, taken, deps);
  const profile = await knownProfile(taken, sync.profile, deps);
  // A program of another version had it before, and kept what this one cannot read.
  if (isForOthers(job.progress)) return leaveToNewerWorker(taken, job.progress, clock.now());
  const work = { taken, sync, profile, deps };
  const kept = keptSync.safeParse(job.progress).data;
  const [results, ending] = await runOpen(work, kept?.results ?? []);
  if (ending.kind === "again") return postpone(taken, ending.afterMs, clock.now());
  const outcome = await publishEnd(work, results, ending.problem);
  const { report, problem } = outcome;
  const hasFailed = report.status === "failed" || report.status === "partial";
  if (hasFailed) await keep(work, results, outcome);
  deps.onEnd?.(sync, outcome);
  if (hasFailed && problem !== null) throw errorOf(problem);
  return outcome;
};
