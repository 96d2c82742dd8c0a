// Consumes jobs from BullMQ's queues: starts one consumer per queue, runs each job, postpones a job that Redis interrupted or that
// another worker must run, and keeps every other failure as a dead letter. Closes the consumers when the worker stops.
import { DelayedError, type Job, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import { endsWithin } from "../../core/async/waiting.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, type ErrorCode, isCode, withHint } from "../../core/errors.ts";
import { isTakenAway, levelOf, problemOf } from "../../core/report/problem.ts";
import type { Scrubber } from "../../core/secret.ts";
import { runIdSchema } from "../../core/text/run-id.ts";
import { errorTypeOf, type Tracer } from "../../core/tracing.ts";
import { firstReader, isForOthers, parsePayload, shownId, unreadable } from "../requests/job-payloads.ts";
import { ABORT, BUSY_MS, failureToKeep, HANDED_ON_MS, isWorthRepeating } from "../requests/stored-failures.ts";
import { profileOf, StoredError } from "../requests/sync-requests.ts";
import { atRedis, type ConsumerConnection } from "./queue-connections.ts";
import { keyOf, MOST_STALLS, MOST_VERIFY_STALLS, PREFIX, type QueueName, TICKS } from "./queues.ts";

// A job that a worker took: leaving it to other workers, postponing it, carrying it out.

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
export interface ActiveJob<J extends QueuedJob = QueuedJob> {
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
export const postpone = async (
  { job, token }: Pick<ActiveJob, "job" | "token">,
  ms: number,
  now: number,
): Promise<never> => {
  await job.moveToDelayed(now + ms, token);
  throw new DelayedError();
};

/** Leaves a job to another worker. Never returns. */
export const leaveToOthers = (taken: ActiveJob, now: number): Promise<never> =>
  postpone(taken, offerAgainMs(now - taken.job.timestamp), now);

/**
 * Leaves a job to another worker, because of something that only a newer program reads. Throws JOB_VERSION where
 * no such worker was there for ten minutes.
 */
export const leaveToNewerWorker = async (taken: ActiveJob, unread: unknown, now: number): Promise<never> => {
  if ((await taken.leftFor(firstReader(unread))) < UNREAD_PATIENCE_MS) return leaveToOthers(taken, now);
  throw unreadable(taken.job.id ?? "", unread);
};

/** The payload of a job. One that only a newer program reads is left to it. Throws JOB_VERSION. */
export const readPayload = async <T>(
  schema: z.ZodType<T>,
  taken: ActiveJob,
  { clock }: Pick<KnownProfiles, "clock">,
): Promise<T> => {
  const { job } = taken;
  if (isForOthers(job.data)) return leaveToNewerWorker(taken, job.data, clock.now());
  return parsePayload(schema, job.id ?? "", job.data);
};

/**
 * The profile of a job. Workers may know different profiles: an unknown one is left to another worker for `patienceMs`, a
 * day by default; then PROFILE_UNKNOWN is thrown.
 */
export const knownProfile = async (
  taken: ActiveJob,
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
export const runProfileJob = async <P extends { readonly profile: string }, T>(
  taken: ActiveJob,
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
    if (isCode(error, "WRITER_BUSY")) return postpone(taken, BUSY_MS, deps.clock.now());
    if (taken.signal.reason === ABORT.stopping) return postpone(taken, HANDED_ON_MS, deps.clock.now());
    if (gone.some((code) => isCode(error, code))) return undefined;
    throw error;
  }
};

// How long a job has been left to other workers: one key in Redis for each such job. Its age does not show it: the job may
// have waited for days before any worker was offered it: paused, or without a worker.

/** A longer time without an offer does not count, ms: the job was paused, or no worker ran. */
const GAP_MS = 600_000;
const LASTS_S = 3 * 86_400;

/** KEYS: the job's. ARGV: longest gap in ms, lifetime in s. Its value: first and latest offer, by Redis's clock. */
const LEFT_FOR = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local first, last = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
if not first or now - tonumber(last) > tonumber(ARGV[1]) then first = now end
redis.call('SET', KEYS[1], string.format('%.0f %.0f', tonumber(first), now), 'EX', ARGV[2])
return now - tonumber(first)`;

/** Notes that the job is left to others now; returns for how long it has been, ms. */
export const leftFor = async (redis: Redis, queue: string, jobId: string): Promise<number> =>
  Number(await redis.eval(LEFT_FOR, 1, keyOf("left", queue, jobId), GAP_MS, LASTS_S));

// Adds a span to a BullMQ job, in the trace of the request for its sync.

const payloadSchema = z.object({
  syncId: runIdSchema,
  profile: z.string(),
  traceparent: z.string().optional(),
});

/** Runs a job of a sync in a span. Postponing is no failure. Throws the errors of `work`. */
const inJobSpan = async <T>(tracer: Tracer, job: Job, work: () => Promise<T>): Promise<T> => {
  const payload = payloadSchema.safeParse(job.data).data;
  const span = tracer.start(`job ${job.name}`, {
    kind: "consumer",
    traceparent: payload?.traceparent,
    attributes: { "duckmirror.profile": payload?.profile, "duckmirror.run.id": payload?.syncId },
  });
  try {
    return await work();
  } catch (error) {
    if (error instanceof DelayedError) span.set({ "duckmirror.put_off": true });
    else span.fail(errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
};

interface JobConsumersDeps {
  readonly clock: Clock;
  readonly log: (level: "info" | "warn" | "error", text: string) => void;
  readonly scrubber: Pick<Scrubber, "scrub">;
  /** The newest version of payloads that a worker of the fleet reads. */
  readonly newestReader: () => Promise<number>;
  readonly asking: RedisConnection;
  readonly working: ConsumerConnection;
  readonly tracer: Tracer;
  /** Ends jobs that BullMQ gives no signal. */
  readonly stopping: AbortSignal;
  /** Time without renewal after which a worker has lost its job, and interval of the check for lost jobs, ms. */
  readonly times: { readonly lock: number; readonly stalledCheck: number };
  /** Logs a failure of the connection. */
  readonly complain: (error: unknown) => void;
}

export interface JobConsumers {
  /** Starts taking jobs of a queue, `concurrency` at once, after the worker's own `run`. */
  from<T>(name: QueueName, concurrency: number, process: (taken: ActiveJob<Job>) => Promise<T>): Worker;
  /** Ids of running jobs. */
  readonly underWay: ReadonlySet<string>;
}

/** Queues whose jobs get a span here; others make their own, or are too many. */
const SPANNED: readonly string[] = ["export", "deliver"];

export const createJobConsumers = (deps: JobConsumersDeps): JobConsumers => {
  const { asking, working, tracer, stopping, times, clock, log, scrubber, newestReader, complain } = deps;
  const underWay = new Set<string>();

  return {
    underWay,
    from: (name, concurrency, process) => {
      const worker = new Worker(
        name,
        // BullMQ passes a signal only to functions with three parameters.
        async (job, token, signal) => {
          const id = job.id ?? "";
          underWay.add(id);
          try {
            const left = (since?: number) =>
              atRedis(asking, async () =>
                since !== undefined && (await newestReader()) >= since ? 0 : leftFor(asking.redis, name, id),
              );
            const taken = { job, token, signal: signal ?? stopping, leftFor: left };
            if (!SPANNED.includes(name)) return await process(taken);
            return await inJobSpan(tracer, job, () => process(taken));
          } catch (error) {
            if (error instanceof DelayedError) throw error;
            // That Redis was away is no failure of the job. If it still is, the lock expires and the job is delivered again.
            if (isCode(error, "REDIS_UNAVAILABLE")) return await postpone({ job, token }, BUSY_MS, clock.now());
            const kept = failureToKeep(error, scrubber);
            if (isTakenAway(error)) complain(error);
            // A stored one was logged with the end of its sync.
            else if (!(error instanceof StoredError))
              log(levelOf(error), `job ${shownId(id)}: ${withHint({ ...problemOf(error), message: kept.message })}`);
            // BullMQ's sign for a job that gets no further attempt.
            if (error instanceof DuckmirrorError && !isWorthRepeating(error)) kept.name = "UnrecoverableError";
            throw kept;
          } finally {
            underWay.delete(id);
          }
        },
        {
          connection: working.redis,
          prefix: PREFIX,
          settings: TICKS,
          concurrency,
          autorun: false,
          maxStalledCount: name === "verify" ? MOST_VERIFY_STALLS : MOST_STALLS,
          lockDuration: times.lock,
          stalledInterval: times.stalledCheck,
        },
      );
      worker.on("error", complain);
      worker.on("stalled", (id) => log("warn", `job ${shownId(id)} was left by its worker; another run continues it`));
      // Another worker has the job now, so this one must stop spending credits.
      worker.on("lockRenewalFailed", (ids) => {
        for (const id of ids) worker.cancelJob(id, ABORT.lockLost);
      });
      return worker;
    },
  };
};

/** Changes how many jobs a worker takes at once. */
export const setConcurrency = (worker: Worker, jobs: number, onError: (error: unknown) => void): void => {
  const wake = jobs > worker.concurrency && !worker.closing;
  worker.concurrency = jobs;
  // A worker with all places taken waits until one of its jobs ends; resuming makes it check again.
  if (wake)
    void worker
      .pause(true)
      .then(() => (worker.closing ? undefined : worker.resume()))
      .catch(onError);
};

/** Ends all jobs and takes no more; resolves when they have ended, or after `mostMs`. */
export const closeConsumers = async (
  workers: readonly Worker[],
  {
    clock,
    mostMs,
    onError,
  }: { readonly clock: Clock; readonly mostMs: number; readonly onError: (error: unknown) => void },
): Promise<void> => {
  const closed = Promise.all(workers.map((worker) => worker.close())).catch(onError);
  // A job that was being fetched may still arrive and must be stopped too.
  const tell = () => workers.forEach((worker) => void worker.cancelAllJobs(ABORT.stopping));
  const telling = setInterval(tell, 100);
  tell();
  await endsWithin(closed, mostMs, clock);
  clearInterval(telling);
};
