// Starts and stops a worker with Redis: opens it (open-worker.ts), starts its queue consumers (queue-consumers.ts), registers it in the
// fleet, and ends its jobs in time when it stops.

import { setMaxListeners } from "node:events";
import { createSessions, type Sessions } from "../../../jobs/session.ts";
import { checkRedis } from "../../budget/store/redis-connection.ts";
import { endsWithin } from "../../core/async/waiting.ts";
import { noTracer } from "../../core/tracing.ts";
import { askAlerts } from "../alerts/redis.ts";
import { joinFleet, newestReader, readFleet } from "../fleet/fleet.ts";
import { closeConsumers, createJobConsumers, type JobConsumers, setConcurrency } from "../redis/job-consumers.ts";
import { cancelledOf, keepProgress } from "../redis/marks.ts";
import { atRedis } from "../redis/queue-connections.ts";
import { every } from "../requests/keyed-tasks.ts";
import { ABORT } from "../requests/stored-failures.ts";
import type { RunningWorker } from "../requests/sync-requests.ts";
import { settleSchedules } from "../schedules/redis.ts";
import { CLOSING_MS, type OpenWorker, openWorker, type WorkerDeps } from "./open-worker.ts";
import { type QueueConsumers, startQueueConsumers } from "./queue-consumers.ts";
import { createProgressBook, type ProgressBook } from "./run-engine.ts";

// Work that a worker with Redis repeats at intervals: schedules, alerts, a check of Redis's settings, cancelled syncs, and
// reports that the worker still runs.

/** Starts all of them; each promise resolves when `stopping` has ended its task. */
const startChores = (
  { profiles, clock }: WorkerDeps,
  { asking, queues, times, complain }: OpenWorker,
  {
    taking,
    taken,
    book,
    stopping,
  }: {
    readonly taking: JobConsumers;
    readonly taken: QueueConsumers;
    readonly book: ProgressBook;
    readonly stopping: AbortSignal;
  },
): readonly Promise<void>[] => {
  const repeat = (ms: number, task: () => Promise<unknown>) => every(ms, task, { clock, stopping, onError: complain });
  const endCancelled = async (): Promise<void> => {
    // What a cancelled sync has committed is published and exported.
    for (const id of await cancelledOf(asking.redis, [...taking.underWay]))
      for (const worker of [taken.syncs, taken.verifying]) worker.cancelJob(id, ABORT.cancelled);
  };
  return [
    repeat(times.scheduleCheck, () => settleSchedules(queues.schedule, profiles)),
    repeat(times.alertCheck, () => atRedis(asking, () => askAlerts(queues, profiles))),
    // Redis's settings can change while it runs.
    repeat(times.scheduleCheck, () => checkRedis(asking)),
    repeat(times.cancelCheck, endCancelled),
    repeat(times.heartbeat, () => keepProgress(asking.redis, book.all())),
  ];
};

/** The runs of syncs. `onLent`: a run that only waits keeps its job, so as many more may be taken. */
const sessionsOf = (
  deps: WorkerDeps,
  { marks }: OpenWorker,
  { book, most, onLent }: { readonly book: ProgressBook; readonly most: number; onLent(lent: number): void },
): Sessions => {
  return createSessions({
    clock: deps.clock,
    run: book.run,
    emit: (event, run) => {
      book.note(event, run.runId);
      deps.emit(event, run);
    },
    most,
    onLent,
    onStart: (syncId) => marks.start(syncId),
  });
};

/**
 * Starts the worker. Throws REDIS_UNAVAILABLE and the other refusals of `checkRedis`.
 */
export const startWorker = async (deps: WorkerDeps): Promise<RunningWorker> => {
  const { profiles, clock, tracer = noTracer } = deps;
  const opened = await openWorker(deps);
  const { asking, working, queues, triggers, times, complain, release } = opened;
  const most = Math.max(1, profiles[0]?.maxSyncs ?? 1);
  const book = createProgressBook(deps.run(asking), clock);
  const onLent = (lent: number) => setConcurrency(taken.syncs, most + lent, complain);
  const sessions = sessionsOf(deps, opened, { book, most, onLent });
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const taking = createJobConsumers({
    ...deps,
    tracer,
    asking,
    working,
    newestReader: () => newestReader(asking.redis),
    stopping: stopping.signal,
    times,
    complain,
  });
  const taken = startQueueConsumers(deps, opened, { taking, sessions, most });
  try {
    await atRedis(asking, () => settleSchedules(queues.schedule, profiles));
  } catch (error) {
    stopping.abort();
    await release();
    throw error;
  }
  const chores = startChores(deps, opened, { taking, taken, book, stopping: stopping.signal });
  const leave = joinFleet({
    redis: asking.redis,
    clock,
    identity: deps.identity,
    id: opened.workerId,
    inFlight: () => book.all().size,
    unable: deps.unable,
    onError: complain,
    renewMs: times.memberRenewal,
    lastsMs: times.memberLife,
  });
  for (const worker of taken.all) worker.run().catch(complain);

  const stop = async (): Promise<void> => {
    stopping.abort();
    await closeConsumers(taken.all, { clock, mostMs: times.stop, onError: complain });
    await endsWithin(Promise.all([...chores, leave()]), CLOSING_MS, clock).catch(complain);
    await release();
  };
  return { triggers, fleet: () => atRedis(asking, () => readFleet(asking.redis, queues)), stop };
};
