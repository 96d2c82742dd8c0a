// Role fetch: takes requests of all organizations from the queue and sends them for their loaders. Keeps no state: if
// it dies, another fetcher takes its requests.
import { randomUUID } from "node:crypto";
import { DelayedError, type Job, Worker } from "bullmq";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { DuckmirrorError, isCode } from "../../../core/errors.ts";
import type { Fleet, MemberIdentity, UnableProfile } from "../../../core/report/fleet.ts";
import { createScrubber, type Secret } from "../../../core/secret.ts";
import { noTracer, type Tracer } from "../../../core/tracing.ts";
import { closeQueues, openQueues, PREFIX } from "../../bullmq/queues.ts";
import { openAsking, openWorking } from "../../bullmq/redis-connections.ts";
import { failureToKeep } from "../../failures.ts";
import { enterFleet } from "../../fleet/fleet.ts";
import { isForOtherFetchers, parsePayload } from "../../payloads.ts";
import { leaveUnread } from "../../taken-job.ts";
import { type FetchJob, type FetchPayload, fetchJob, readOrder } from "../messages.ts";
import * as names from "../names.ts";
import { createOrganizations, type Organization } from "../organizations.ts";
import { createStoreClock } from "../store-clock.ts";
import { type Fetched, fetchOne } from "./fetch-one.ts";
import { type FetchTimes, TIMES } from "./fetch-times.ts";
import { createInFlight } from "./in-flight.ts";
import { createOutlets } from "./outlets.ts";

export interface FetchRoleOptions {
  readonly redisUrl: Secret;
  /** Organizations that this worker may send for. */
  readonly profiles: readonly Config[];
  readonly tokenOf: (config: Config) => Promise<Secret>;
  /** Most requests in flight, hanging ones excluded. */
  readonly slots: number;
  /** How this process appears in the register of the fleet. */
  readonly identity: MemberIdentity;
  readonly clock: Clock;
  /** Called with a text when Redis or a single job fails. */
  readonly warn: (text: string) => void;
  readonly tracer?: Tracer;
  /** Profiles that it cannot send for now; unset: none. */
  readonly unable?: () => readonly UnableProfile[];
  /** Times in ms; the defaults are for production. */
  readonly times?: Partial<FetchTimes>;
}

export interface FetchRole {
  /** Whether Redis answers, and whether this process takes requests. */
  readiness(): Promise<{ readonly redis: boolean; readonly taking: boolean }>;
  /** Queues, members and pauses. Throws REDIS_UNAVAILABLE. */
  fleet(): Promise<Fleet>;
  /** Takes no more requests, lets those in flight end, aborts them after `graceMs`, and closes. */
  close(graceMs: number): Promise<void>;
}

const FULL_SHARE_DELAY_MS = 50;
/** Delay of a request whose profile this worker does not have. */
const STRANGE_DELAY_MS = 500;
const COMPLAIN_EVERY_MS = 30_000;
const AWAY_DELAY_MS = 1_000;
/** Time in which aborted requests report that they were aborted. */
const HANDING_ON_MS = 1_500;

/** Starts the role. Throws REDIS_UNAVAILABLE, REDIS_TOO_OLD, REDIS_EVICTS, REDIS_REPLICA. */
export const startFetcher = async (options: FetchRoleOptions): Promise<FetchRole> => {
  const { redisUrl, profiles, tokenOf, slots, identity, clock, warn, tracer = noTracer } = options;
  const times = { ...TIMES, ...options.times };
  const asking = await openAsking(redisUrl, warn);
  const working = openWorking(redisUrl, (error) => warn(asking.detail(error)));
  const storeClock = createStoreClock(clock);
  const scrubber = createScrubber();
  const organizations = createOrganizations({
    connection: asking,
    profiles,
    tokenOf: async (config) => {
      const token = await tokenOf(config);
      scrubber.hide(token);
      return token;
    },
    version: identity.version,
    clock,
    storeClock,
    connections: slots,
  });
  const owner = randomUUID();
  const stopping = new AbortController();
  const breaking = new AbortController();
  const outlets = createOutlets(asking, (error) => warn(asking.detail(error)));
  let complainedAt: number | null = null;

  /** The organization, if this worker has its profile with the same token. */
  const organizationOf = async ({
    profile,
    organization,
  }: Pick<FetchJob, "profile" | "organization">): Promise<Organization | DuckmirrorError> => {
    try {
      const found = await organizations.open(profile);
      if (found.key === organization) return found;
      organizations.forget(profile);
      const which = `another address or token for ${profile} than the loader's`;
      return new DuckmirrorError("PROFILE_UNKNOWN", { which, detail: "both must be the same on all machines" });
    } catch (error) {
      if (error instanceof DuckmirrorError) return error;
      throw error;
    }
  };

  /** Takes as many jobs as there are places. */
  const adjust = () => {
    const wanted = inFlight.places();
    if (wanted === worker.concurrency) return;
    const wake = wanted > worker.concurrency;
    worker.concurrency = wanted;
    // A worker with all places taken waits until one of its jobs ends; resuming makes it check again.
    if (wake && !stopping.signal.aborted)
      void worker
        .pause(true)
        .then(() => worker.resume())
        .catch((error: unknown) => warn(asking.detail(error)));
  };
  const inFlight = createInFlight({ slots, owner, hangingMs: times.hanging, onChange: adjust, warn });

  const take = async (payload: FetchPayload, organization: Organization, token: string): Promise<Fetched> => {
    const send = () =>
      fetchOne(payload, {
        organization,
        mailbox: outlets.mailboxOf(payload.mirror),
        announce: outlets.announceTo(payload.mirror),
        clock,
        storeClock,
        owner,
        lock: { key: names.lockKeyOf(names.FETCH_QUEUE, payload.request.requestId), token },
        signal: stopping.signal,
        hardSignal: breaking.signal,
        onRefused: () => organizations.forget(payload.profile),
        tracer,
      });
    try {
      return await inFlight.during(payload, organization, send);
    } catch (error) {
      const away = isCode(error, "REDIS_UNAVAILABLE") || isCode(error, "REDIS_FULL") || stopping.signal.aborted;
      if (!away) throw error;
      return { kind: "later", afterMs: AWAY_DELAY_MS };
    }
  };

  /** Forged jobs may come by the thousand, so the log gets the first and then one per interval. */
  const complain = (error: DuckmirrorError): void => {
    const now = clock.now();
    if (complainedAt !== null && now - complainedAt < COMPLAIN_EVERY_MS) return;
    complainedAt = now;
    warn(`${error.message} ${error.hint}`);
  };

  const putOff = async (job: Job, token: string, afterMs: number): Promise<never> => {
    // If the lock is lost, another fetcher has the job already.
    await job.moveToDelayed(Date.now() + afterMs, token).catch((error: unknown) => warn(asking.detail(error)));
    throw new DelayedError();
  };

  const step = async (job: Job, token: string): Promise<void> => {
    if (stopping.signal.aborted) return putOff(job, token, 0);
    const jobId = job.id ?? "";
    // Left to fetchers of the version that its loader has: while a fleet is upgraded there are some.
    if (isForOtherFetchers(job.data)) {
      const leftFor = async () => clock.now() - job.timestamp;
      return leaveUnread({ job, token, signal: stopping.signal, leftFor }, job.data, times.unread, clock.now());
    }
    const sent = parsePayload(fetchJob, jobId, job.data);
    const organization = await organizationOf(sent);
    if (organization instanceof DuckmirrorError) {
      if (job.attemptsStarted * STRANGE_DELAY_MS <= times.strange) return putOff(job, token, STRANGE_DELAY_MS);
      // Without the organization's token, no message would be trusted by its loader, which sees the failed job
      // instead.
      throw organization;
    }
    const payload = readOrder(organization.seals, jobId, sent);
    if (payload === null) throw new DuckmirrorError("JOB_FORGED", { job: jobId });
    const { organizationId } = payload.request.query;
    if (organizationId !== undefined && organizationId !== organization.usageOf) {
      const which = `another organization_id for ${payload.profile} than the loader's`;
      throw new DuckmirrorError("PROFILE_UNKNOWN", { which, detail: "both must be the same on all machines" });
    }
    if (!inFlight.admits(payload.profile, true) && !inFlight.admits(payload.profile, await outlets.othersWait())) {
      return putOff(job, token, FULL_SHARE_DELAY_MS);
    }
    const fetched = await take(payload, organization, token);
    if (fetched.kind === "later") return putOff(job, token, fetched.afterMs);
  };

  const worker = new Worker(
    names.FETCH_QUEUE,
    async (job, token = "") => {
      try {
        await step(job, token);
      } catch (error) {
        if (error instanceof DelayedError) throw error;
        if (isCode(error, "JOB_FORGED")) complain(error);
        throw failureToKeep(error, scrubber);
      }
    },
    {
      connection: working.redis,
      prefix: PREFIX,
      concurrency: slots,
      lockDuration: times.lock,
      stalledInterval: times.stalledCheck,
      maxStalledCount: names.MOST_DEATHS,
      runRetryDelay: names.RETRY_MS,
      ...names.PASSING_WORKER,
    },
  );
  worker.on("error", (error) => warn(asking.detail(error)));

  const onError = (error: unknown) => warn(asking.detail(error));
  const listed = openQueues(asking.redis, onError);
  const membership = { clock, identity, id: owner, inFlight: inFlight.count, unable: options.unable, onError };
  const fleet = enterFleet(asking, listed, membership);
  /** Its answer needs no patience, because a probe asks again. */
  const answers = () => asking.redis.ping().then(Boolean, () => false);

  return {
    readiness: async () => {
      const redis = (await answers()) && working.redis.status === "ready";
      return { redis, taking: redis && worker.isRunning() && !stopping.signal.aborted };
    },
    fleet: fleet.read,
    close: async (graceMs) => {
      stopping.abort();
      const patience = setTimeout(() => breaking.abort(), graceMs);
      const forced = new AbortController();
      const force = clock.sleep(graceMs + HANDING_ON_MS, forced.signal).catch(() => undefined);
      await Promise.race([worker.close(), force]);
      forced.abort();
      clearTimeout(patience);
      inFlight.close();
      breaking.abort();
      working.end();
      await fleet.leave();
      await Promise.allSettled([closeQueues(listed), outlets.close()]);
      await organizations.close();
      await asking.close();
    },
  };
};
