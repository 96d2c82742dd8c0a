// The queues that a worker takes jobs from, and the function that runs each kind of job.
import type { Worker } from "bullmq";
import { publishJob } from "../../../../jobs/publish.ts";
import type { Sessions } from "../../../../jobs/session.ts";
import { endLine } from "../../../core/report/sync-end.ts";
import { askAlerts, processAlert } from "../../alerting/queued-alerts.ts";
import { exportPayload, parsePayload, syncHead, syncOutcome } from "../../asking/payloads.ts";
import { askDeliveries, processDeliver } from "../../delivering/queued-deliveries.ts";
import { atRedis } from "../../redis/queue-connections.ts";
import { type ProcessorDeps, processExport, processPublish, processTick } from "../../taking/processors.ts";
import { processFamily } from "../../taking/run-family.ts";
import { processVerify } from "../../verifying/process-verify.ts";
import { dropTimes } from "../redis-board.ts";
import { holdBackBy } from "../syncs/hold-back.ts";
import type { Taking } from "../take-jobs.ts";
import type { WorkerDeps } from "../worker-deps.ts";
import type { OpenWorker } from "./open-worker.ts";

/** Jobs taken at once per sync that may run: six families, and as many waiting for them. */
export const JOBS_PER_SYNC = 12;
const EXPORTS_AT_ONCE = 2;
const DELIVERIES_AT_ONCE = 4;
const ALERTS_AT_ONCE = 8;

export interface TakenQueues {
  readonly syncs: Worker;
  readonly verifying: Worker;
  /** These two, and all the others. */
  readonly all: readonly Worker[];
}

const processingOf = (deps: WorkerDeps, opened: OpenWorker, sessions: Sessions): ProcessorDeps => {
  const { profiles, clock, random, scrubber, log } = deps;
  const { asking, queues, triggers, board, times } = opened;
  const holdBack = holdBackBy(asking.redis, queues);
  return {
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
};

/** Starts taking jobs, after each worker's own `run`. `most`: syncs at once. */
export const takeQueues = (
  deps: WorkerDeps,
  opened: OpenWorker,
  { taking, sessions, most }: { readonly taking: Taking; readonly sessions: Sessions; readonly most: number },
): TakenQueues => {
  const { asking, board, complain } = opened;
  const processing = processingOf(deps, opened, sessions);
  const verify = deps.verify(asking);
  const { log } = deps;
  const logged = new Map<string, string>();
  const delivering = { log, ...(deps.open === undefined ? {} : { open: deps.open }) };

  const exportAndReport = async (...[taken, using]: Parameters<typeof processExport>): Promise<readonly string[]> => {
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
  publishing.on("completed", (job, result) => {
    const profile = syncHead.safeParse(job.data).data?.profile;
    const outcome = syncOutcome.safeParse(result).data;
    if (profile !== undefined && outcome !== undefined) {
      const { level, text } = endLine(profile, outcome);
      log(level, text);
    }
    void dropTimes(asking.redis, job.id ?? "").catch(complain);
  });
  const all = [
    syncs,
    publishing,
    taking.from("export", EXPORTS_AT_ONCE, (taken) => exportAndReport(taken, processing)),
    taking.from("deliver", DELIVERIES_AT_ONCE, (taken) => processDeliver(taken, { ...processing, ...delivering })),
    taking.from("alert", ALERTS_AT_ONCE, (taken) => processAlert(taken, { ...processing, log }, logged)),
    taking.from("schedule", 1, (taken) => processTick(taken, processing)),
    verifying,
  ];
  return { syncs, verifying, all };
};
