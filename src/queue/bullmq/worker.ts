// The worker with Redis: takes the jobs of syncs, publishes, exports and schedules, and ends cleanly.
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { DelayedError, type Job, Worker } from "bullmq";
import { FAMILIES } from "../../../jobs/families.ts";
import { publishJob } from "../../../jobs/publish.ts";
import { createSessions } from "../../../jobs/session.ts";
import { checkRedis } from "../../budget/store/redis-connection.ts";
import { detailOf, isCode } from "../../core/errors.ts";
import { noTracer } from "../../core/tracing.ts";
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
import { processVerify } from "../verifying/process-verify.ts";
import { inJobSpan } from "./job-span.ts";
import { leftFor } from "./left-jobs.ts";
import { closeQueues, MOST_STALLS, MOST_VERIFY_STALLS, openQueues, PREFIX, QUEUE, type QueueName } from "./queues.ts";
import { cancelledOf, createRedisBoard, dropTimes, keepProgress, renewClaims } from "./redis-board.ts";
import { atRedis, openAsking, openWorking } from "./redis-connections.ts";
import { schedulesOf, settleSchedules } from "./schedules.ts";
import { holdBackBy } from "./syncs/hold-back.ts";
import { createQueuedTriggers } from "./syncs/queued-triggers.ts";
import { TIMES, type WorkerDeps } from "./worker-deps.ts";

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

/** Changes how many jobs a worker takes at once. */
const takeAtOnce = (worker: Worker, jobs: number, onError: (error: unknown) => void): void => {
  const wake = jobs > worker.concurrency && !worker.closing;
  worker.concurrency = jobs;
  // A worker with all places taken waits until one of its jobs ends; resuming makes it check again.
  if (wake)
    void worker
      .pause(true)
      .then(() => (worker.closing ? undefined : worker.resume()))
      .catch(onError);
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
    // A run that only waits keeps its jobs, so as many more may be taken.
    onLent: (lent) => takeAtOnce(syncs, (most + lent) * JOBS_PER_SYNC, complain),
    onStart: (syncId) => board.start(syncId),
    // If Redis does not receive the result, this process keeps it, and another one runs the streams again.
    onEnd: (syncId, result) => keepResult(syncId, result, families, { board, scrubber }).catch(complain),
  });
  const verify = deps.verify(asking);
  const holdBack = holdBackBy(asking.redis, queues);
  const processing: ProcessorDeps = {
    profiles,
    sessions,
    queues,
    triggers,
    board,
    // As everywhere: a broken connection is no failure of the job.
    holdBack: (sync) => atRedis(asking, () => holdBack(sync)),
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
          const left = () => atRedis(asking, () => leftFor(asking.redis, name, id));
          const taken = { job, token, signal: signal ?? stopping.signal, leftFor: left };
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
        maxStalledCount: name === "verify" ? MOST_VERIFY_STALLS : MOST_STALLS,
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

  const syncs = work("sync", most * JOBS_PER_SYNC, processFamily);
  const publishing = work("publish", most, processPublish);
  const verifying = work("verify", most, (taken) => processVerify(taken, { ...deps, sessions, verify, board }));
  // Only now: without its deadline, a sync that is over would be joined.
  publishing.on("completed", (job) => void dropTimes(asking.redis, job.id ?? "").catch(complain));
  const workers = [
    syncs,
    publishing,
    work("export", EXPORTS_AT_ONCE, exportAndTell),
    work("schedule", 1, processTick),
    verifying,
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
    // What a cancelled sync has committed is published and exported.
    for (const [job, sync] of underWay)
      if (cancelled.has(sync)) for (const worker of [syncs, verifying]) worker.cancelJob(job, ABORT.cancelled);
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
    const closed = Promise.all(workers.map((worker) => worker.close())).catch(complain);
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
    triggers,
    board: async () => {
      const { boardOf } = await import("./board.ts");
      return boardOf((await fleet.all.list()).map(({ queue }) => queue));
    },
    fleet: fleet.read,
    stop,
  };
};
