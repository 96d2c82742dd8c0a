// The queues that a worker takes jobs from, and the function that runs each kind of job.
import type { Worker } from "bullmq";
import { publishJob } from "../../../jobs/publish.ts";
import type { Sessions } from "../../../jobs/session.ts";
import { endLine } from "../../core/report/sync-end.ts";
import { askAlerts, processAlert } from "../alerts/redis.ts";
import { askDeliveries, processDeliver } from "../deliveries/redis.ts";
import { oldestReader } from "../fleet/members.ts";
import { dropTimes } from "../redis/marks.ts";
import { atRedis } from "../redis/queue-connections.ts";
import type { Taking } from "../redis/take-jobs.ts";
import { processTick } from "../schedules/redis.ts";
import { askExport, processExport } from "../syncs/redis/exports.ts";
import { holdBackBy } from "../syncs/redis/hold-back.ts";
import { endOlder, handOn, isOlderFlow, OLDER_QUEUE } from "../syncs/redis/older-flows.ts";
import { processSync, type SyncJobDeps } from "../syncs/redis/process-sync.ts";
import { processVerify } from "../verifications/redis.ts";
import type { OpenWorker } from "./open-worker.ts";
import type { WorkerDeps } from "./worker-deps.ts";

const EXPORTS_AT_ONCE = 2;
const DELIVERIES_AT_ONCE = 4;
const ALERTS_AT_ONCE = 8;

export interface TakenQueues {
  readonly syncs: Worker;
  readonly verifying: Worker;
  /** These two, and all the others. */
  readonly all: readonly Worker[];
}

const syncDeps = (deps: WorkerDeps, opened: OpenWorker, sessions: Sessions): SyncJobDeps => {
  const { profiles, clock, scrubber, log, tracer } = deps;
  const { asking, queues, marks, times } = opened;
  const holdBack = holdBackBy(asking.redis, queues);
  return {
    profiles,
    sessions,
    marks,
    // As everywhere: a broken connection is no failure of the job.
    holdBack: (sync) => atRedis(asking, () => holdBack(sync)),
    publish: publishJob,
    askNext: (sync, profile) =>
      atRedis(asking, async () => {
        await askExport(queues, sync, profile);
        await askDeliveries(queues, sync.syncId, profile, times.deliveryWait);
        await askAlerts(queues, [profile]);
      }),
    onEnd: ({ profile }, outcome) => {
      const { level, text } = endLine(profile, outcome);
      log(level, text);
    },
    clock,
    scrubber,
    ...(tracer === undefined ? {} : { tracer }),
  };
};

/** Starts taking jobs, after each worker's own `run`. `most`: syncs at once. */
export const takeQueues = (
  deps: WorkerDeps,
  opened: OpenWorker,
  { taking, sessions, most }: { readonly taking: Taking; readonly sessions: Sessions; readonly most: number },
): TakenQueues => {
  const { asking, marks, queues, triggers, complain } = opened;
  const { profiles, clock, random, log } = deps;
  const syncing = syncDeps(deps, opened, sessions);
  const verify = deps.verify(asking);
  const logged = new Map<string, string>();
  const common = { profiles, clock, random, log, warn: (text: string) => log("warn", text) };
  const delivering = { ...common, ...(deps.open === undefined ? {} : { open: deps.open }) };
  const exporting = {
    ...common,
    onExported: (formats: readonly string[], ms: number, run: { runId: string; profile: string }) =>
      deps.emit({ kind: "exported", formats, ms }, run),
  };
  const older = { redis: asking.redis, queues, clock, oldestReader: () => oldestReader(asking.redis) };

  const syncs = taking.from<unknown>("sync", most, (taken) =>
    isOlderFlow(taken.job.data) ? handOn(taken, older) : processSync(taken, syncing),
  );
  const verifying = taking.from("verify", most, (taken) => processVerify(taken, { ...deps, sessions, verify, marks }));
  // Only now: without its deadline, a sync that is over would be joined.
  const drop = (id: string | undefined) => void dropTimes(asking.redis, id ?? "").catch(complain);
  syncs.on("completed", (job) => drop(job.id));
  syncs.on("failed", (job) => drop(job?.id));
  const all = [
    syncs,
    verifying,
    taking.from("export", EXPORTS_AT_ONCE, (taken) => processExport(taken, exporting)),
    taking.from("deliver", DELIVERIES_AT_ONCE, (taken) => processDeliver(taken, delivering)),
    taking.from("alert", ALERTS_AT_ONCE, (taken) => processAlert(taken, common, logged)),
    taking.from("schedule", 1, (taken) => processTick(taken, { ...common, queues, triggers })),
    taking.from(OLDER_QUEUE, 1, (taken) => endOlder(taken, older)),
  ];
  return { syncs, verifying, all };
};
