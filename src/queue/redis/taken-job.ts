// A job that a worker took: leaving it to other workers, postponing it, carrying it out.
import { DelayedError } from "bullmq";
import type { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { type ErrorCode, isCode } from "../../core/errors.ts";
import { profileOf } from "../asking/asks.ts";
import { ABORT, BUSY_MS, HANDED_ON_MS } from "../asking/failures.ts";
import { firstReader, isForOthers, parsePayload, unreadable } from "../asking/payloads.ts";

/** The used part of a BullMQ job. */
export interface QueuedJob {
  readonly id?: string | undefined;
  readonly data: unknown;
  readonly progress: unknown;
  /** Time when it was added, ms since the epoch. */
  readonly timestamp: number;
  updateProgress(progress: object): Promise<unknown>;
  moveToDelayed(at: number, token?: string): Promise<unknown>;
  /** Makes it due, where it is delayed. */
  promote(): Promise<unknown>;
}

/** A job from BullMQ with the token of its lock and the signal that cancels it. */
export interface Taken<J extends QueuedJob = QueuedJob> {
  readonly job: J;
  readonly token: string | undefined;
  readonly signal: AbortSignal;
  /**
   * Time for which workers have left the job to others, ms. A time in which none was offered the job does not count, nor one
   * in which a worker lives that reads version `since`.
   */
  readonly leftFor: (since?: number) => Promise<number>;
}

export interface KnownProfiles {
  readonly profiles: readonly Config[];
  readonly clock: Pick<Clock, "now">;
}

/** Time for which a job waits for a worker that has its profile, ms. */
const STRANGE_PATIENCE_MS = 86_400_000;
/** Time for which a job waits while no worker of a version that reads it is there, ms. */
export const UNREAD_PATIENCE_MS = 600_000;
/**
 * Delays of a job that another worker may take, ms: an eighth of its age, within these limits, so that a young job is
 * offered often. Chance decides which worker takes it next.
 */
const OFFER_AGAIN = { share: 1 / 8, least: 250, most: 10_000 };

const offerAgainMs = (ageMs: number): number =>
  Math.min(OFFER_AGAIN.most, Math.max(OFFER_AGAIN.least, Math.round(ageMs * OFFER_AGAIN.share)));

/** Postpones a job by `ms`. Never returns. */
export const putOff = async ({ job, token }: Taken, ms: number, now: number): Promise<never> => {
  await job.moveToDelayed(now + ms, token);
  throw new DelayedError();
};

/** Leaves a job to another worker, with a delay of at most `mostMs`. Never returns. */
export const leaveToOthers = (taken: Taken, now: number, mostMs = OFFER_AGAIN.most): Promise<never> =>
  putOff(taken, Math.min(mostMs, offerAgainMs(now - taken.job.timestamp)), now);

/**
 * Leaves a job to another worker, because of something that only a program of another version reads. Throws JOB_VERSION where
 * no such worker was there for ten minutes.
 */
export const leaveUnread = async (taken: Taken, unread: unknown, now: number): Promise<never> => {
  if ((await taken.leftFor(firstReader(unread))) < UNREAD_PATIENCE_MS) return leaveToOthers(taken, now);
  throw unreadable(taken.job.id ?? "", unread);
};

/** The payload of a job. One that only a program of another version reads is left to it. Throws JOB_VERSION. */
export const readPayload = async <T>(
  schema: z.ZodType<T>,
  taken: Taken,
  { clock }: Pick<KnownProfiles, "clock">,
): Promise<T> => {
  const { job } = taken;
  if (isForOthers(job.data)) return leaveUnread(taken, job.data, clock.now());
  return parsePayload(schema, job.id ?? "", job.data);
};

/**
 * The profile of a job. Workers may know different profiles: an unknown one is left to another worker for `patienceMs`, a
 * day by default; then PROFILE_UNKNOWN is thrown.
 */
export const knownProfile = async (
  taken: Taken,
  name: string,
  { clock, profiles }: KnownProfiles,
  patienceMs = STRANGE_PATIENCE_MS,
): Promise<Config> => {
  const isKnown = profiles.some(({ profile }) => profile === name);
  if (!isKnown && (await taken.leftFor()) < patienceMs) return leaveToOthers(taken, clock.now());
  return profileOf(profiles, name);
};

/**
 * THE rule of a job that does one work for one profile. A busy mirror and a worker that stops put the job off; work that is no longer
 * configured (`gone`) is done with: undefined. Throws the other errors of `work`, which BullMQ repeats or keeps.
 */
export const carryOut = async <P extends { readonly profile: string }, T>(
  taken: Taken,
  schema: z.ZodType<P>,
  deps: KnownProfiles,
  work: (config: Config, payload: P) => Promise<T>,
  gone: readonly ErrorCode[] = [],
): Promise<T | undefined> => {
  const payload = await readPayload(schema, taken, deps);
  const config = await knownProfile(taken, payload.profile, deps);
  try {
    return await work(config, payload);
  } catch (error) {
    if (isCode(error, "WRITER_BUSY")) return putOff(taken, BUSY_MS, deps.clock.now());
    if (taken.signal.reason === ABORT.stopping) return putOff(taken, HANDED_ON_MS, deps.clock.now());
    if (gone.some((code) => isCode(error, code))) return undefined;
    throw error;
  }
};
