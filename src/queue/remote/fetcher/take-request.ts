// Takes one queued request: checks that it is for this version, this organization and its loader, then sends it, or puts it
// off, or leaves a dead letter.

import { DelayedError, type Job } from "bullmq";
import type { Clock } from "../../../core/clock.ts";
import { DuckmirrorError, isCode } from "../../../core/errors.ts";
import type { Scrubber } from "../../../core/secret.ts";
import type { Tracer } from "../../../core/tracing.ts";
import { failureToKeep } from "../../asking/failures.ts";
import { isForOtherFetchers, parsePayload } from "../../asking/payloads.ts";
import { FETCH_QUEUE } from "../../redis/queues.ts";
import { leaveUnread } from "../../taking/taken-job.ts";
import { type FetchJob, type FetchPayload, fetchJob, readOrder } from "../messages.ts";
import * as names from "../names.ts";
import type { createOrganizations, Organization } from "../organizations.ts";
import type { StoreClock } from "../store-clock.ts";
import { type Fetched, fetchOne } from "./fetch-one.ts";
import type { FetchTimes } from "./fetch-times.ts";
import type { createInFlight } from "./in-flight.ts";
import type { createOutlets } from "./outlets.ts";

export interface TakingRequests {
  readonly organizations: ReturnType<typeof createOrganizations>;
  readonly outlets: ReturnType<typeof createOutlets>;
  readonly inFlight: ReturnType<typeof createInFlight>;
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  /** This process, in the mailbox. */
  readonly owner: string;
  readonly tracer: Tracer;
  readonly times: Pick<FetchTimes, "unread" | "strange">;
  readonly scrubber: Scrubber;
  /** Aborts when this process takes no more requests. */
  readonly signal: AbortSignal;
  /** Aborts requests in flight. */
  readonly hardSignal: AbortSignal;
  readonly warn: (text: string) => void;
  readonly onError: (error: unknown) => void;
}

const FULL_SHARE_DELAY_MS = 50;
/** Delay of a request whose profile this worker does not have. */
const STRANGE_DELAY_MS = 500;
const COMPLAIN_EVERY_MS = 30_000;
const AWAY_DELAY_MS = 1_000;

/** The organization, if this worker has its profile with the same token. */
const organizationOf = async (
  { profile, organization }: Pick<FetchJob, "profile" | "organization">,
  { organizations }: TakingRequests,
): Promise<Organization | DuckmirrorError> => {
  try {
    const found = await organizations.open(profile);
    if (found.key === organization) return found;
    organizations.drop(profile);
    const which = `another address or token for ${profile} than the loader's`;
    return new DuckmirrorError("PROFILE_UNKNOWN", { which, detail: "both must be the same on all machines" });
  } catch (error) {
    if (error instanceof DuckmirrorError) return error;
    throw error;
  }
};

const sendRequest = async (
  payload: FetchPayload,
  organization: Organization,
  token: string,
  taking: TakingRequests,
): Promise<Fetched> => {
  const { outlets, organizations, inFlight, signal, clock, storeClock, owner, hardSignal, tracer } = taking;
  const send = () =>
    fetchOne(payload, {
      organization,
      mailbox: outlets.mailboxOf(payload.mirror),
      announce: outlets.announceTo(payload.mirror),
      clock,
      storeClock,
      owner,
      lock: { key: names.lockKeyOf(FETCH_QUEUE, payload.request.requestId), token },
      signal,
      hardSignal,
      onRefused: () => organizations.drop(payload.profile),
      tracer,
    });
  try {
    return await inFlight.during(payload, organization, send);
  } catch (error) {
    const away = isCode(error, "REDIS_UNAVAILABLE") || isCode(error, "REDIS_FULL") || signal.aborted;
    if (!away) throw error;
    return { kind: "later", afterMs: AWAY_DELAY_MS };
  }
};

const putOff = async (job: Job, token: string, afterMs: number, { onError }: TakingRequests): Promise<never> => {
  // If the lock is lost, another fetcher has the job already.
  await job.moveToDelayed(Date.now() + afterMs, token).catch(onError);
  throw new DelayedError();
};

/** The request of a job. Throws JOB_FORGED, and PROFILE_UNKNOWN for one that its loader sends for another organization. */
const orderOf = (jobId: string, sent: FetchJob, organization: Organization): FetchPayload => {
  const payload = readOrder(organization.seals, jobId, sent);
  if (payload === null) throw new DuckmirrorError("JOB_FORGED", { job: jobId });
  const { organizationId } = payload.request.query;
  if (organizationId !== undefined && organizationId !== organization.usageOf) {
    const which = `another organization_id for ${payload.profile} than the loader's`;
    throw new DuckmirrorError("PROFILE_UNKNOWN", { which, detail: "both must be the same on all machines" });
  }
  return payload;
};

const takeOne = async (job: Job, token: string, taking: TakingRequests): Promise<void> => {
  const { signal, clock, times, inFlight, outlets } = taking;
  if (signal.aborted) return putOff(job, token, 0, taking);
  const jobId = job.id ?? "";
  // Left to fetchers of the version that its loader has: while a fleet is upgraded there are some.
  if (isForOtherFetchers(job.data)) {
    const leftFor = async () => clock.now() - job.timestamp;
    return leaveUnread({ job, token, signal, leftFor }, job.data, times.unread, clock.now());
  }
  const sent = parsePayload(fetchJob, jobId, job.data);
  const organization = await organizationOf(sent, taking);
  if (organization instanceof DuckmirrorError) {
    if (job.attemptsStarted * STRANGE_DELAY_MS <= times.strange) return putOff(job, token, STRANGE_DELAY_MS, taking);
    // Without the organization's token, no message would be trusted by its loader, which sees the failed job
    // instead.
    throw organization;
  }
  const payload = orderOf(jobId, sent, organization);
  if (!inFlight.admits(payload.profile, true) && !inFlight.admits(payload.profile, await outlets.othersWait())) {
    return putOff(job, token, FULL_SHARE_DELAY_MS, taking);
  }
  const fetched = await sendRequest(payload, organization, token, taking);
  if (fetched.kind === "later") return putOff(job, token, fetched.afterMs, taking);
};

/** Makes the function that takes jobs. It throws DelayedError for one that is put off, and errors of dead letters. */
export const createTakeRequest = (taking: TakingRequests) => {
  let complainedAt: number | null = null;
  /** Forged jobs may come by the thousand, so the log gets the first and then one per interval. */
  const complain = (error: DuckmirrorError): void => {
    const now = taking.clock.now();
    if (complainedAt !== null && now - complainedAt < COMPLAIN_EVERY_MS) return;
    complainedAt = now;
    taking.warn(`${error.message} ${error.hint}`);
  };
  return async (job: Job, token: string): Promise<void> => {
    try {
      await takeOne(job, token, taking);
    } catch (error) {
      if (error instanceof DelayedError) throw error;
      if (isCode(error, "JOB_FORGED")) complain(error);
      throw failureToKeep(error, taking.scrubber);
    }
  };
};
