// The worker with Redis: takes the jobs of syncs, publishes, exports and schedules, and ends cleanly.
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { FAMILIES } from "../../../jobs/families.ts";
import { publishJob } from "../../../jobs/publish.ts";
import { createSessions } from "../../../jobs/session.ts";
import { checkRedis } from "../../budget/store/redis-connection.ts";
import { detailOf } from "../../core/errors.ts";
import { noTracer } from "../../core/tracing.ts";
import { askAlerts, processAlert } from "../alerting/queued-alerts.ts";
import type { RunningWorker } from "../asks.ts";
import { askDeliveries, processDeliver } from "../delivering/queued-deliveries.ts";
import { enterFleet } from "../fleet/fleet.ts";
import { exportPayload, parsePayload } from "../payloads.ts";
import { type ProcessorDeps, processExport, processPublish, processTick } from "../processors.ts";
import { createProgressBook } from "../progress-book.ts";
import { keepResult, processFamily } from "../run-family.ts";
import { ABORT } from "../sync-life.ts";
import { tracedTriggers } from "../traced-triggers.ts";
import { processVerify } from "../verifying/process-verify.ts";
import { closeQueues, openQueues } from "./queues.ts";
import { cancelledOf, createRedisBoard, dropTimes, keepProgress, renewClaims } from "./redis-board.ts";
import { atRedis, openAsking, openWorking } from "./redis-connections.ts";
import { schedulesOf, settleSchedules } from "./schedules.ts";
import { holdBackBy } from "./syncs/hold-back.ts";
import { createQueuedTriggers } from "./syncs/queued-triggers.ts";
import { createTaking, endTaking, takeAtOnce } from "./take-jobs.ts";
import { TIMES, type WorkerDeps } from "./worker-deps.ts";

/** Shortest time between two log lines with the same error, ms. */
const COMPLAIN_EVERY_MS = 30_000;
/** Jobs taken at once per sync that may run: six families, and as many waiting for them. */
const JOBS_PER_SYNC = 12;
const EXPORTS_AT_ONCE = 2;
const DELIVERIES_AT_ONCE = 4;
const ALERTS_AT_ONCE = 8;
/** Time limit for what waits for Redis when the worker stops, ms. */
const CLOSING_MS = 500;
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
    askDeliveries: (syncId, profile) =>
      atRedis(asking, () => askDeliveries(queues, syncId, profile, times.deliveryWait)),
    askAlerts: (profile) => atRedis(asking, () => askAlerts(queues, [profile])),
    clock,
    random,
    scrubber,
    warn: (text) => log("warn", text),
  };
  const delivering = { log, ...(deps.open === undefined ? {} : { open: deps.open }) };
  const logged = new Map<string, string>();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const taking = createTaking({ ...deps, tracer, asking, working, stopping: stopping.signal, times, complain });

  const exportAndTell = async (...[taken, using]: Parameters<typeof processExport>): Promise<readonly string[]> => {
    const startedAt = performance.now();
    const formats = await processExport(taken, using);
    const { syncId: runId, profile } = parsePayload(exportPayload, taken.job.id ?? "", taken.job.data);
    deps.emit({ kind: "exported", formats, ms: performance.now() - startedAt }, { runId, profile });
    return formats;
  };

  const syncs = taking.from("sync", most * JOBS_PER_SYNC, (taken) => processFamily(taken, processing));
  const publishing = taking.from("publish", most, (taken) => processPublish(taken, processing));
  const verifying = taking.from("verify", most, (taken) => processVerify(taken, { ...deps, sessions, verify, board }));
  // Only now: without its deadline, a sync that is over would be joined.
  publishing.on("completed", (job) => void dropTimes(asking.redis, job.id ?? "").catch(complain));
  const workers = [
    syncs,
    publishing,
    taking.from("export", EXPORTS_AT_ONCE, (taken) => exportAndTell(taken, processing)),
    taking.from("deliver", DELIVERIES_AT_ONCE, (taken) => processDeliver(taken, { ...processing, ...delivering })),
    taking.from("alert", ALERTS_AT_ONCE, (taken) => processAlert(taken, { ...processing, log }, logged)),
    taking.from("schedule", 1, (taken) => processTick(taken, processing)),
    verifying,
  ];

  /** Repeats a task until the worker stops; a failure is logged, and the task is tried again. */
  const every = async (ms: number, task: () => Promise<unknown>): Promise<void> => {
    while (!stopping.signal.aborted) {
      await task().catch(complain);
      await clock.sleep(ms, stopping.signal).catch(() => undefined);
    }
  };
  const live = () => [...new Set(taking.underWay.values())];
  const endCancelled = async (): Promise<void> => {
    const cancelled = await cancelledOf(asking.redis, live());
    // What a cancelled sync has committed is published and exported.
    for (const [job, sync] of taking.underWay)
      if (cancelled.has(sync)) for (const worker of [syncs, verifying]) worker.cancelJob(job, ABORT.cancelled);
  };
  const keepClaims = () => renewClaims(asking.redis, live(), workerId, times.lock);

  /** Closes what is open, in any state of Redis: commands of BullMQ wait for it without a limit. */
  const release = async (): Promise<void> => {
    await Promise.race([closeQueues(queues).then(() => triggers.close()), clock.sleep(CLOSING_MS)]).catch(complain);
    working.end();
    await asking.close();
  };
  try {
    await atRedis(asking, () => settleSchedules(queues.schedule, profiles, clock));
  } catch (error) {
    stopping.abort();
    await release();
    throw error;
  }
  const chores = [
    every(times.scheduleCheck, () => settleSchedules(queues.schedule, profiles, clock)),
    every(times.alertCheck, () => atRedis(asking, () => askAlerts(queues, profiles))),
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
    unable: deps.unable,
    onError: complain,
    renewMs: times.memberRenewal,
    lastsMs: times.memberLife,
  });
  for (const worker of workers) worker.run().catch(complain);

  const stop = async (): Promise<void> => {
    stopping.abort();
    await endTaking(workers, { clock, mostMs: times.stop, onError: complain });
    await Promise.race([Promise.all([...chores, fleet.leave()]), clock.sleep(CLOSING_MS)]).catch(complain);
    await release();
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
