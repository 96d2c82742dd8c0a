// Work that a worker with Redis repeats at intervals: schedules, alerts, a check of Redis's settings, cancelled syncs, claims, and
// reports that the worker still runs.
import { checkRedis } from "../../../budget/store/redis-connection.ts";
import { askAlerts } from "../../alerting/queued-alerts.ts";
import type { ProgressBook } from "../../engine/progress-book.ts";
import { atRedis } from "../../redis/queue-connections.ts";
import { ABORT } from "../../taking/sync-life.ts";
import { cancelledOf, keepProgress, renewClaims } from "../redis-board.ts";
import { settleSchedules } from "../schedules.ts";
import type { Taking } from "../take-jobs.ts";
import type { WorkerDeps } from "../worker-deps.ts";
import type { OpenWorker } from "./open-worker.ts";
import type { TakenQueues } from "./take-queues.ts";

/** How often a claim is renewed while it lasts. */
const CLAIMS_PER_LOCK = 5;

/** Starts all of them; each promise resolves when `stopping` has ended its task. */
export const startChores = (
  { profiles, clock }: WorkerDeps,
  { asking, queues, workerId, times, complain }: OpenWorker,
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
  const live = () => [...new Set(taking.underWay.values())];
  const endCancelled = async (): Promise<void> => {
    const cancelled = await cancelledOf(asking.redis, live());
    // What a cancelled sync has committed is published and exported.
    for (const [job, sync] of taking.underWay)
      if (cancelled.has(sync))
        for (const worker of [taken.syncs, taken.verifying]) worker.cancelJob(job, ABORT.cancelled);
  };
  return [
    every(times.scheduleCheck, () => settleSchedules(queues.schedule, profiles)),
    every(times.alertCheck, () => atRedis(asking, () => askAlerts(queues, profiles))),
    // Redis's settings can change while it runs.
    every(times.scheduleCheck, () => checkRedis(asking)),
    every(times.cancelCheck, endCancelled),
    every(times.lock / CLAIMS_PER_LOCK, () => renewClaims(asking.redis, live(), workerId, times.lock)),
    every(times.heartbeat, () => keepProgress(asking.redis, book.all())),
  ];
};
