// Opens what a worker with Redis uses: two connections, the queues, triggers, and the shared marks of syncs (marks.ts).
// `release` closes them, even while Redis does not answer.
import { randomUUID } from "node:crypto";
import { noTracer } from "../../core/tracing.ts";
import { tracedTriggers } from "../asking/traced-triggers.ts";
import { createSyncMarks } from "../redis/marks.ts";
import { openAsking, openWorking } from "../redis/queue-connections.ts";
import { closeQueues, openQueues } from "../redis/queues.ts";
import { createQueuedTriggers } from "../syncs/redis/queued-triggers.ts";
import { createComplaints } from "./complaints.ts";
import { TIMES, type WorkerDeps } from "./worker-deps.ts";

/** Time limit for what waits for Redis when the worker stops, ms. */
export const CLOSING_MS = 500;

/** Opens all of it. Throws REDIS_UNAVAILABLE and the other refusals of `checkRedis`. */
export const openWorker = async (deps: WorkerDeps) => {
  const { profiles, clock, random, log, redisUrl, tracer = noTracer } = deps;
  const times = { ...TIMES, ...deps.times };
  const asking = await openAsking(redisUrl, (text) => log("warn", text));
  const complain = createComplaints(deps, asking);
  const queues = openQueues(asking.redis, complain);
  const queued = createQueuedTriggers({ connection: asking, queues, profiles, clock, random });
  const triggers = tracedTriggers(queued, tracer);
  const working = openWorking(redisUrl, complain);
  const workerId = randomUUID();
  const marks = createSyncMarks(asking);
  /** Has a time limit, because commands of BullMQ wait for Redis without one. */
  const release = async (): Promise<void> => {
    await Promise.race([closeQueues(queues), clock.sleep(CLOSING_MS)]).catch(complain);
    working.end();
    await asking.close();
  };
  return { times, complain, asking, working, queues, triggers, workerId, marks, release };
};

export type OpenWorker = Awaited<ReturnType<typeof openWorker>>;
