// A job that a worker took: what is left to other workers, and how a job is put off.
import { DelayedError } from "bullmq";
import type { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config/config.ts";
import { profileOf } from "./asks.ts";
import { parsePayload, readability } from "./payloads.ts";

/** What is used of a BullMQ job. */
export interface QueuedJob {
  readonly id?: string | undefined;
  readonly data: unknown;
  readonly progress: unknown;
  /** When it was added, ms since the epoch. */
  readonly timestamp: number;
  updateProgress(progress: object): Promise<unknown>;
  moveToDelayed(at: number, token?: string): Promise<unknown>;
}

/** A job as BullMQ hands it out: its lock's token, and the signal that cancels it. */
export interface Taken<J extends QueuedJob = QueuedJob> {
  readonly job: J;
  readonly token: string | undefined;
  readonly signal: AbortSignal;
}

interface Place {
  readonly profiles: readonly Config[];
  readonly clock: Pick<Clock, "now">;
}

/** How long a job of a sync that this worker cannot take waits for one that can, ms. */
export const SYNC_PATIENCE_MS = 86_400_000;
/**
 * Chance decides which worker takes a job next, so one that another may take is offered often while it is young: again
 * after an eighth of its age, within these bounds, ms.
 */
const OFFER_AGAIN = { share: 1 / 8, least: 250, most: 10_000 };

const offerAgainMs = (ageMs: number): number =>
  Math.min(OFFER_AGAIN.most, Math.max(OFFER_AGAIN.least, Math.round(ageMs * OFFER_AGAIN.share)));

/** Puts a job off by `ms`. Never returns. */
export const putOff = async ({ job, token }: Taken, ms: number, now: number): Promise<never> => {
  await job.moveToDelayed(now + ms, token);
  throw new DelayedError();
};

/** Leaves a job to another worker, at most `mostMs` of delay. Never returns. */
export const leaveToOthers = (taken: Taken, now: number, mostMs = OFFER_AGAIN.most): Promise<never> =>
  putOff(taken, Math.min(mostMs, offerAgainMs(now - taken.job.timestamp)), now);

/**
 * The payload of a job. One that only a newer program can read is left to another worker for `patienceMs`. Throws
 * JOB_VERSION.
 */
export const readPayload = async <T>(
  schema: z.ZodType<T>,
  taken: Taken,
  patienceMs: number,
  { clock }: Pick<Place, "clock">,
): Promise<T> => {
  const { job } = taken;
  const now = clock.now();
  if (readability(job.data) === "newer" && now - job.timestamp < patienceMs) return leaveToOthers(taken, now);
  return parsePayload(schema, job.id ?? "", job.data);
};

/**
 * The profile of a job. Workers may know different ones: what this one does not know is left to another for `patienceMs`,
 * then PROFILE_UNKNOWN is thrown.
 */
export const knownProfile = async (
  taken: Taken,
  name: string,
  patienceMs: number,
  { clock, profiles }: Place,
): Promise<Config> => {
  const now = clock.now();
  const isKnown = profiles.some(({ profile }) => profile === name);
  if (!isKnown && now - taken.job.timestamp < patienceMs) return leaveToOthers(taken, now);
  return profileOf(profiles, name);
};
