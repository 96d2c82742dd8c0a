// The worker with Redis: takes the jobs of syncs, publishes, exports and schedules, and ends cleanly.
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { DelayedError, type Job, Worker } from "bullmq";
import { FAMILIES } from "../../../jobs/families.ts";
import { publishJob } from "../../../jobs/publish.ts";
import { createSessions, type SessionDeps } from "../../../jobs/session.ts";
import { checkRedis, type RedisConnection } from "../../budget/store/redis-connection.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { detailOf, isCode } from "../../core/errors.ts";
import type { MemberIdentity } from "../../core/report/fleet.ts";
import type { Scrubber, Secret } from "../../core/secret.ts";
import { noTracer, type Tracer } from "../../core/tracing.ts";
import type { RunningWorker } from "../asks.ts";
import { failureToKeep } from "../failures.ts";
import { enterFleet } from "../fleet/fleet.ts";
import { exportPayload, parsePayload } from "../payloads.ts";
import { type ProcessorDeps, processExport, processPublish, processTick } from "../processors.ts";
import { createProgressBook } from "../progress-book.ts";
import { keepResult, processFamily } from "../run-family.ts";
import { ABORT, BUSY_MS } from "../sync-life.ts";
import type { Taken } from "../taken-job.ts";
import { tracedTriggers } from "../traced-triggers.ts";
import { createVerifications, type Verify, withVerifications } from "../verifications.ts";
import { inJobSpan } from "./job-span.ts";
import { closeQueues, depthsOf, MOST_STALLS, openQueues, PREFIX, QUEUE, type QueueName } from "./queues.ts";
import { cancelledOf, createRedisBoard, dropTimes, keepProgress, renewClaims } from "./redis-board.ts";
import { openAsking, openWorking } from "./redis-connections.ts";
import { schedulesOf, settleSchedules } from "./schedules.ts";
import { holdBackBy } from "./syncs/hold-back.ts";
import { createQueuedTriggers } from "./syncs/queued-triggers.ts";

export interface WorkerDeps {
  readonly redisUrl: Secret;
  readonly profiles: readonly Config[];
  /** How this process appears in the register of the fleet. */
  readonly identity: MemberIdentity;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly scrubber: Pick<Scrubber, "scrub">;
  /** Writes to the log. */
  readonly log: (level: "info" | "warn" | "error", text: string) => void;
  /** Runs the engine; this connection shares rate and credits with other processes. */
  readonly run: (connection: RedisConnection) => SessionDeps["run"];
  /** Runs verifications over the same connection; unset: this worker runs none. */
  readonly verify?: (connection: RedisConnection) => Verify;
  readonly emit: SessionDeps["emit"];
  readonly tracer?: Tracer;
  /** Times in ms; the defaults are for production. */
  readonly times?: Partial<WorkerTimes>;
}

interface WorkerTimes {
  /** Time without renewal after which a worker has lost its job. */
  readonly lock: number;
  /** Interval of the check for lost jobs. */
  readonly stalledCheck: number;
  /** Interval of the check for cancelled syncs. */
  readonly cancelCheck: number;
  /** Interval at which this worker's runs give a sign of life. */
  readonly heartbeat: number;
  /** Interval at which the process renews its entry in the register of the fleet, and the entry's lifetime. */
  readonly memberRenewal?: number;
  readonly memberLife?: number;
  /** Interval for comparing schedules with the configuration. */
  readonly scheduleCheck: number;
  /** Time limit for ending running work when the worker stops. */
  readonly stop: number;
}

const TIMES: WorkerTimes = {
  lock: 15_000,
  stalledCheck: 10_000,
  cancelCheck: 100,
  heartbeat: 2_000,
  scheduleCheck: 60_000,
  stop: 9_000,
};
/** Shortest time between two log lines with the same error, ms. */
const COMPLAIN_EVERY_MS = 30_000;
/** Jobs taken at once per sync that may run: six families, and as many waiting for them. */
const JOBS_PER_SYNC = 12;
const EXPORTS_AT_ONCE = 2;
/** How often a claim is renewed while it lasts. */
const CLAIMS_PER_LOCK = 5;

/** Logs connection failures at intervals, because there are several per second while Redis is away. */
const createComplaints = ({ clock, scrubber, log }: WorkerDeps) => {
  const complained = new Map<string, number>();
  return (error: unknown): void => {
    const text = scrubber.scrub(detailOf(error));
    const last = complained.get(text);
    if (last !== undefined && clock.now() - last < COMPLAIN_EVERY_MS) return;
    complained.set(text, clock.now());
    log("warn", `Redis: ${text}`);
  };
};

/**
 * Starts the worker. Throws REDIS_UNAVAILABLE and the other refusals of `checkRedis`, CONFIG_INVALID for a schedule.
 */
export const startWorker = async (deps: WorkerDeps): Promise<RunningWorker> => {
  const { profiles, clock, random, log, redisUrl, scrubber, tracer = noTracer } = deps;
  schedulesOf(profiles);
  const times = { ...TIMES, ...deps.times };
  const complain = createComplaints(deps);
  const asking = await openAsking(redisUrl, (text) => log("warn", text));
  const queues = openQueues(asking.redis, complain);
  const queued = createQueuedTriggers({ connection: asking, queues, profiles, clock, random, onError: complain });
  const triggers = tracedTriggers(queued, tracer);
  const working = openWorking(redisUrl, complain);
  const most = Math.max(1, profiles[0]?.maxSyncs ?? 1);
  const workerId = randomUUID();
  const board = createRedisBoard(asking, queues, { worker: workerId, claimMs: times.lock });
  const families = FAMILIES.map(({ family }) => family);
  const book = createProgressBook(deps.run(asking), clock);
  const sessions = createSessions({
    clock,
    run: book.run,
    emit: (event, run) => {
      book.note(event, run.runId);
      deps.emit(event, run);
    },
    most,
    onStart: (syncId) => board.start(syncId),
    // If Redis does not receive the result, this process keeps it, and another one runs the streams again.
    onEnd: (syncId, result) => keepResult(syncId, result, families, { board, scrubber }).catch(complain),
  });
  const verify = deps.verify?.(asking);
  const verifications = verify === undefined ? null : createVerifications({ ...deps, sessions, verify });
  const processing: ProcessorDeps = {
    profiles,
    sessions,
    queues,
    triggers,
    board,
    holdBack: holdBackBy(asking.redis, queues),
    publish: publishJob,
    clock,
    random,
    scrubber,
    warn: (text) => log("warn", text),
  };
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  /** Job -> sync, for running jobs. */
  const underWay = new Map<string, string>();

  const work = <T>(
    name: QueueName,
    concurrency: number,
    processor: (taken: Taken<Job>, deps: ProcessorDeps) => Promise<T>,
  ): Worker => {
    const worker = new Worker(
      QUEUE[name],
      // BullMQ passes a signal only to functions with three parameters.
      async (job, token, signal) => {
        const id = job.id ?? "";
        underWay.set(id, id.split(".")[0] ?? id);
        try {
          const taken = { job, token, signal: signal ?? stopping.signal };
          if (name !== "publish" && name !== "export") return await processor(taken, processing);
          return await inJobSpan(tracer, job, () => processor(taken, processing));
        } catch (error) {
          if (error instanceof DelayedError) throw error;
          // Redis was away, which is no failure of the job. If it still is, the lock expires and the job is delivered
          // again.
          if (isCode(error, "REDIS_UNAVAILABLE")) {
            await job.moveToDelayed(clock.now() + BUSY_MS, token);
            throw new DelayedError();
          }
          log("error", `job ${id}: ${scrubber.scrub(detailOf(error))}`);
          throw failureToKeep(error, scrubber);
        } finally {
          underWay.delete(id);
        }
      },
      {
        connection: working.redis,
        prefix: PREFIX,
        concurrency,
        autorun: false,
        maxStalledCount: MOST_STALLS,
        lockDuration: times.lock,
        stalledInterval: times.stalledCheck,
      },
    );
    worker.on("error", complain);
    worker.on("stalled", (id) => log("warn", `job ${id} was left by its worker; it goes on where it stands`));
    // Another worker has the job now, so this one must stop spending credits.
    worker.on("lockRenewalFailed", (ids) => {
      for (const id of ids) worker.cancelJob(id, ABORT.lockLost);
    });
    return worker;
  };

  const exportAndTell = async (...[taken, using]: Parameters<typeof processExport>): Promise<readonly string[]> => {
    const startedAt = performance.now();
    const formats = await processExport(taken, using);
    const { syncId: runId, profile } = parsePayload(exportPayload, taken.job.id ?? "", taken.job.data);
    deps.emit({ kind: "exported", formats, ms: performance.now() - startedAt }, { runId, profile });
    return formats;
  };

  const publishAndForget = async (...[taken, using]: Parameters<typeof processPublish>) => {
    const outcome = await processPublish(taken, using);
    await dropTimes(asking.redis, outcome.report.run_id).catch(complain);
    return outcome;
  };

  const syncs = work("sync", most * JOBS_PER_SYNC, processFamily);
  const workers = [
    syncs,
    work("publish", most, publishAndForget),
    work("export", EXPORTS_AT_ONCE, exportAndTell),
    work("schedule", 1, processTick),
  ];

  /** Repeats a task until the worker stops; a failure is logged, and the task is tried again. */
  const every = async (ms: number, task: () => Promise<unknown>): Promise<void> => {
    while (!stopping.signal.aborted) {
      await task().catch(complain);
      await clock.sleep(ms, stopping.signal).catch(() => undefined);
    }
  };
  const endCancelled = async (): Promise<void> => {
    const live = [...new Set(underWay.values())];
    const cancelled = await cancelledOf(asking.redis, live);
    for (const [job, sync] of underWay) if (cancelled.has(sync)) syncs.cancelJob(job, ABORT.cancelled);
  };
  const keepClaims = () => renewClaims(asking.redis, [...new Set(underWay.values())], workerId, times.lock);

  await settleSchedules(queues.schedule, profiles, clock);
  const chores = [
    every(times.scheduleCheck, () => settleSchedules(queues.schedule, profiles, clock)),
    // Redis's settings can change while it runs.
    every(times.scheduleCheck, () => checkRedis(asking)),
    every(times.cancelCheck, endCancelled),
    every(times.lock / CLAIMS_PER_LOCK, keepClaims),
    every(times.heartbeat, () => keepProgress(asking.redis, book.all())),
  ];
  const fleet = enterFleet(asking, queues, {
    clock,
    identity: deps.identity,
    id: workerId,
    inFlight: () => book.all().size,
    onError: complain,
    renewMs: times.memberRenewal,
    lastsMs: times.memberLife,
  });
  for (const worker of workers) worker.run().catch(complain);

  const stop = async (): Promise<void> => {
    stopping.abort();
    const ends = [...workers.map((worker) => worker.close()), verifications?.stop()];
    const closed = Promise.all(ends).catch(complain);
    const done = new AbortController();
    const deadline = clock.sleep(times.stop, done.signal).catch(() => undefined);
    // A job that was being fetched may still arrive and must be stopped too.
    const tell = () => workers.forEach((worker) => void worker.cancelAllJobs(ABORT.stopping));
    const telling = setInterval(tell, 100);
    tell();
    await Promise.race([closed, deadline]);
    clearInterval(telling);
    done.abort();
    await Promise.all([...chores, fleet.leave()]);
    await Promise.race([closeQueues(queues).then(() => triggers.close()), clock.sleep(500)]);
    working.end();
    await asking.close();
  };
  return {
    triggers: withVerifications(triggers, verifications),
    depths: () => depthsOf(queues),
    board: async () => {
      const { boardOf } = await import("./board.ts");
      return boardOf((await fleet.all.list()).map(({ queue }) => queue));
    },
    fleet: fleet.read,
    stop,
  };
};
