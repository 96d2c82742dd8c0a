// Work that a worker with Redis repeats at intervals: schedules, alerts, a check of Redis's settings, cancelled syncs, and
// reports that the worker still runs.
import { checkRedis } from "../../budget/store/redis-connection.ts";
import { askAlerts } from "../alerts/redis.ts";
import { ABORT } from "../asking/interruptions.ts";
import { cancelledOf, keepProgress } from "../redis/marks.ts";
import { atRedis } from "../redis/queue-connections.ts";
import type { Taking } from "../redis/take-jobs.ts";
import { settleSchedules } from "../schedules/redis.ts";
import type { OpenWorker } from "./open-worker.ts";
import type { ProgressBook } from "./progress-book.ts";
import type { TakenQueues } from "./take-queues.ts";
import type { WorkerDeps } from "./worker-deps.ts";

/** Starts all of them; each promise resolves when `stopping` has ended its task. */
export const startChores = (
  { profiles, clock }: WorkerDeps,
  { asking, queues, times, complain }: OpenWorker,
  {
    taking,
    taken,
    book,
    stopping,
  }: {
    readonly taking: Taking;
    readonly taken: TakenQueues;
    readonly book: ProgressBook;
    readonly stopping: AbortSignal;
  },
): readonly Promise<void>[] => {
  /** Repeats a task until the worker stops; a failure is logged, and the task is tried again. */
  const every = async (ms: number, task: () => Promise<unknown>): Promise<void> => {
    while (!stopping.aborted) {
      await task().catch(complain);
      await clock.sleep(ms, stopping).catch(() => undefined);
    }
  };
  const endCancelled = async (): Promise<void> => {
    // What a cancelled sync has committed is published and exported.
    for (const id of await cancelledOf(asking.redis, [...taking.underWay]))
      for (const worker of [taken.syncs, taken.verifying]) worker.cancelJob(id, ABORT.cancelled);
  };
  return [
    every(times.scheduleCheck, () => settleSchedules(queues.schedule, profiles)),
    every(times.alertCheck, () => atRedis(asking, () => askAlerts(queues, profiles))),
    // Redis's settings can change while it runs.
    every(times.scheduleCheck, () => checkRedis(asking)),
    every(times.cancelCheck, endCancelled),
    every(times.heartbeat, () => keepProgress(asking.redis, book.all())),
  ];
};
