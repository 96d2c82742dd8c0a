// The worker with Redis: takes the jobs of every queue (take-queues.ts), and ends cleanly.

import { setMaxListeners } from "node:events";
import { FAMILIES } from "../../../jobs/families.ts";
import { createSessions, type Sessions } from "../../../jobs/session.ts";
import { noTracer } from "../../core/tracing.ts";
import type { RunningWorker } from "../asking/asks.ts";
import { createProgressBook, type ProgressBook } from "../engine/progress-book.ts";
import { enterFleet } from "../fleet/fleet.ts";
import { atRedis } from "../redis/queue-connections.ts";
import { keepResult } from "../taking/run-family.ts";
import { startChores } from "./running/chores.ts";
import { CLOSING_MS, type OpenWorker, openWorker } from "./running/open-worker.ts";
import { JOBS_PER_SYNC, takeQueues } from "./running/take-queues.ts";
import { settleSchedules } from "./schedules.ts";
import { createTaking, endTaking, takeAtOnce } from "./take-jobs.ts";
import type { WorkerDeps } from "./worker-deps.ts";

/** The runs of syncs. `onLent`: a run that only waits keeps its jobs, so as many more may be taken. */
const sessionsOf = (
  deps: WorkerDeps,
  { board, complain }: OpenWorker,
  { book, most, onLent }: { readonly book: ProgressBook; readonly most: number; onLent(lent: number): void },
): Sessions => {
  const { clock, scrubber } = deps;
  const families = FAMILIES.map(({ family }) => family);
  return createSessions({
    clock,
    run: book.run,
    emit: (event, run) => {
      book.note(event, run.runId);
      deps.emit(event, run);
    },
    most,
    onLent,
    onStart: (syncId) => board.start(syncId),
    // If Redis does not receive the result, this process keeps it, and another one runs the streams again.
    onEnd: (syncId, result) => keepResult(syncId, result, families, { board, scrubber }).catch(complain),
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
  const onLent = (lent: number) => takeAtOnce(taken.syncs, (most + lent) * JOBS_PER_SYNC, complain);
  const sessions = sessionsOf(deps, opened, { book, most, onLent });
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const taking = createTaking({ ...deps, tracer, asking, working, stopping: stopping.signal, times, complain });
  const taken = takeQueues(deps, opened, { taking, sessions, most });
  try {
    await atRedis(asking, () => settleSchedules(queues.schedule, profiles));
  } catch (error) {
    stopping.abort();
    await release();
    throw error;
  }
  const chores = startChores(deps, opened, { taking, taken, book, stopping: stopping.signal });
  const fleet = enterFleet(asking, queues, {
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
    await endTaking(taken.all, { clock, mostMs: times.stop, onError: complain });
    await Promise.race([Promise.all([...chores, fleet.leave()]), clock.sleep(CLOSING_MS)]).catch(complain);
    await release();
  };
  const board = async () => {
    const { boardOf } = await import("./board.ts");
    return boardOf(Object.values(queues));
  };
  return { triggers, board, fleet: fleet.read, stop };
};
