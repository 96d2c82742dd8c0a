// What a worker does with a job it took: parse, call the job's function, keep what it told. Each answers with the job's
// result, throws to leave a dead letter, or puts the job off.
import { DelayedError, type Job } from "bullmq";
import type { Redis } from "ioredis";
import type { z } from "zod";
import { exportJob } from "../../jobs/export.ts";
import { familyNamed } from "../../jobs/families.ts";
import { type FamilyResult, failureOf, type Problem, problemOf } from "../../jobs/family.ts";
import type { FamilyEnd } from "../../jobs/merge-results.ts";
import { publishJob } from "../../jobs/publish.ts";
import type { Sessions } from "../../jobs/session.ts";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config/config.ts";
import { DuckmirrorError, isCode } from "../core/errors.ts";
import type { Scrubber } from "../core/secret.ts";
import { EXPORT_FORMATS } from "../warehouse/export/tables.ts";
import { errorOf, profileOf, type Triggers } from "./asks.ts";
import { cancelledOf } from "./bullmq/cancels.ts";
import { familyJobId, PREFIX, QUEUE, type Queues } from "./bullmq/queues.ts";
import { toldFailure } from "./failures.ts";
import {
  exportPayload,
  type FamilyProgress,
  familyPayload,
  familyProgress,
  parsePayload,
  type StoredOutcome,
  syncOutcome,
  syncPayload,
  tickPayload,
} from "./payloads.ts";

/** Reasons a running job is aborted for; they reach it as a bare text. */
export const ABORT = { stopping: "stopping", cancelled: "cancelled", lockLost: "lock lost" } as const;

/** Another process writes to the mirror: look again after this time, ms. */
const BUSY_MS = 2_000;
/** A job that is handed on to another worker, or to this one after its restart, ms. */
const HANDED_ON_MS = 200;
/** How long a job of a profile that this worker does not know waits for one that does, ms. */
const SYNC_PATIENCE_MS = 86_400_000;
const TICK_PATIENCE_MS = 600_000;
/**
 * Chance decides which worker takes a job next, so one that another may know is offered often while it is young: again
 * after an eighth of its age, within these bounds, ms.
 */
const OFFER_AGAIN = { share: 1 / 8, least: 250, most: 10_000 };

const offerAgainMs = (ageMs: number): number =>
  Math.min(OFFER_AGAIN.most, Math.max(OFFER_AGAIN.least, Math.round(ageMs * OFFER_AGAIN.share)));

export interface ProcessorDeps {
  readonly profiles: readonly Config[];
  readonly sessions: Sessions;
  readonly queues: Queues;
  readonly triggers: Triggers;
  readonly redis: Redis;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** What is kept in Redis holds no secret. */
  readonly scrubber: Pick<Scrubber, "scrub">;
}

/** The same value without secrets in its texts. */
const scrubbed = <T>(schema: z.ZodType<T>, value: T, { scrubber }: ProcessorDeps): T =>
  schema.parse(JSON.parse(scrubber.scrub(JSON.stringify(value))));

/** A job as BullMQ hands it out: its lock's token, and the signal that cancels it. */
interface Taken {
  readonly job: Job;
  readonly token: string | undefined;
  readonly signal: AbortSignal;
}

/** Puts a job off by `ms`. Never returns. */
const putOff = async ({ job, token }: Taken, ms: number, now: number): Promise<never> => {
  await job.moveToDelayed(now + ms, token);
  throw new DelayedError();
};

/**
 * The profile of a job. Workers may know different ones: what this one does not know is left to another for `patienceMs`,
 * then PROFILE_UNKNOWN is thrown.
 */
const knownProfile = async (taken: Taken, name: string, patienceMs: number, deps: ProcessorDeps): Promise<Config> => {
  const now = deps.clock.now();
  const isKnown = deps.profiles.some(({ profile }) => profile === name);
  const age = now - taken.job.timestamp;
  if (!isKnown && age < patienceMs) return putOff(taken, offerAgainMs(age), now);
  return profileOf(deps.profiles, name);
};

const INTERRUPTED = problemOf(new DuckmirrorError("INTERRUPTED"));

const isOpen = ({ report }: FamilyResult): boolean => report.streams.some(({ status }) => status === "interrupted");

/** Runs a family's streams. Its result holds those of earlier workers that were stopped. */
export const processFamily = async (taken: Taken, deps: ProcessorDeps): Promise<FamilyProgress> => {
  const { job, signal } = taken;
  const { clock } = deps;
  const ask = parsePayload(familyPayload, job.id ?? "", job.data);
  const profile = await knownProfile(taken, ask.profile, SYNC_PATIENCE_MS, deps);
  const family = familyNamed(ask.family);
  if (family === undefined) throw new DuckmirrorError("JOB_VERSION", { job: job.id, found: ask.family, known: 1 });
  const earlier = familyProgress.safeParse(job.progress).data?.results ?? [];
  const keep = async (results: readonly FamilyResult[], problem: Problem | null): Promise<FamilyProgress> => {
    const progress = scrubbed(familyProgress, { v: 1 as const, results: [...results], problem }, deps);
    await job.updateProgress(progress);
    return progress;
  };
  if ((await cancelledOf(deps.redis, [ask.syncId])).size > 0) return keep(earlier, INTERRUPTED);
  let result: FamilyResult;
  try {
    result = await family.run({ ...ask, profile }, { sessions: deps.sessions, signal });
  } catch (error) {
    if (isCode(error, "WRITER_BUSY")) return putOff(taken, BUSY_MS, clock.now());
    if (!isCode(error, "INTERRUPTED")) {
      await keep(earlier, problemOf(error));
      throw error;
    }
    return signal.reason === ABORT.stopping ? putOff(taken, HANDED_ON_MS, clock.now()) : keep(earlier, INTERRUPTED);
  }
  const progress = await keep([...earlier, result], null);
  if (isOpen(result) && signal.reason === ABORT.stopping) return putOff(taken, HANDED_ON_MS, clock.now());
  const failure = failureOf(result);
  if (failure !== null) throw errorOf(failure);
  return progress;
};

/** How each family of the sync ended: results of those that completed, what is kept of those that failed. */
const endsOf = async (job: Job, syncId: string, families: readonly string[], { queues }: ProcessorDeps) => {
  const values = await job.getChildrenValues<unknown>();
  const failures = await job.getIgnoredChildrenFailures();
  const ends: FamilyEnd[] = [];
  for (const name of families) {
    const family = familyNamed(name);
    if (family === undefined) continue;
    const id = familyJobId(syncId, name);
    const key = `${PREFIX}:${QUEUE.sync}:${id}`;
    const failed: Job | undefined = key in failures ? await queues.sync.getJob(id) : undefined;
    const kept = familyProgress.safeParse(key in values ? values[key] : failed?.progress).data;
    const problem = key in failures && kept === undefined ? toldFailure(failures[key] ?? "") : (kept?.problem ?? null);
    ends.push({ streams: family.streams, results: kept?.results ?? [], problem });
  }
  return ends;
};

/** Ends a sync: the snapshot is current, and its report is kept. */
export const processPublish = async (taken: Taken, deps: ProcessorDeps): Promise<StoredOutcome> => {
  const { job } = taken;
  const sync = parsePayload(syncPayload, job.id ?? "", job.data);
  const profile = await knownProfile(taken, sync.profile, SYNC_PATIENCE_MS, deps);
  const ends = (await endsOf(job, sync.syncId, sync.families, deps)).map((end) => ({
    ...end,
    streams: end.streams.filter((stream) => sync.streams.includes(stream)),
  }));
  const cancelled = (await cancelledOf(deps.redis, [sync.syncId])).size > 0;
  try {
    const { report, problem } = await publishJob(profile, sync, ends, deps);
    const outcome = { v: 1 as const, report, problem, cancelled: cancelled && report.status === "interrupted" };
    return scrubbed(syncOutcome, outcome, deps);
  } catch (error) {
    if (isCode(error, "WRITER_BUSY")) return putOff(taken, BUSY_MS, deps.clock.now());
    throw error;
  }
};

/** Writes what the profile wants exported. */
export const processExport = async (taken: Taken, deps: ProcessorDeps): Promise<readonly string[]> => {
  const { job, signal } = taken;
  const { profile: name } = parsePayload(exportPayload, job.id ?? "", job.data);
  const profile = await knownProfile(taken, name, SYNC_PATIENCE_MS, deps);
  try {
    return await exportAll(profile, signal);
  } catch (error) {
    if (isCode(error, "WRITER_BUSY")) return putOff(taken, BUSY_MS, deps.clock.now());
    if (signal.aborted && signal.reason === ABORT.stopping) return putOff(taken, HANDED_ON_MS, deps.clock.now());
    throw error;
  }
};

/** Brings every export folder up to the snapshot; answers with the formats. Throws what `exportJob` throws. */
export const exportAll = async (profile: Config, signal: AbortSignal): Promise<readonly string[]> => {
  const formats = EXPORT_FORMATS.filter((format) => profile.exportFormats.includes(format));
  for (const format of formats) {
    await exportJob(profile, { dir: null, format, tables: [], since: null, guardFormulas: false }, { signal });
  }
  return formats;
};

/** A schedule fell due: asks for its sync, as anybody else would. */
export const processTick = async (taken: Taken, deps: ProcessorDeps) => {
  const { job } = taken;
  const tick = parsePayload(tickPayload, job.id ?? "", job.data);
  try {
    await knownProfile(taken, tick.profile, TICK_PATIENCE_MS, deps);
  } catch (error) {
    // No worker has this organization any more: its schedule ends.
    if (isCode(error, "PROFILE_UNKNOWN")) await deps.queues.schedule.removeJobScheduler(tick.schedule);
    throw error;
  }
  if (!tick.putOff && tick.jitterMs > 0) {
    await job.updateData({ ...tick, putOff: true });
    return putOff(taken, Math.floor(deps.random() * tick.jitterMs), deps.clock.now());
  }
  const { profile, streams, full } = tick;
  // A tick that is delivered twice asks once.
  return deps.triggers.start({ profile, streams, full, idempotencyKey: `schedule ${job.id}` });
};
