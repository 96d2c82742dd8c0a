// Runs alert rules as jobs of BullMQ: one job per rule, requested after each publish and once a minute. A request while a job waits adds
// nothing, because that job takes what is new by then; a request while a job runs adds one more. Messages, their attempts and dead letters
// are files of the rule (alerts/store), so that Redis may lose everything.
import type { Job } from "bullmq";
import type { Config } from "../../core/config/config.ts";
import { type ActiveJob, type KnownProfiles, postpone, runProfileJob } from "../redis/job-consumers.ts";
import { JOB_OPTIONS, type Queues } from "../redis/queues.ts";
import { type AlertPayload, alertPayload, WRITTEN } from "../requests/job-payloads.ts";
import { type AlertingDeps, type Logged, passOf } from "./local.ts";

/** Asks for one pass of a rule. */
export const askAlert = async (
  { alert }: Pick<Queues, "alert">,
  { profile, alert: name }: Pick<AlertPayload, "profile" | "alert">,
): Promise<void> => {
  await alert.add(
    "alert",
    { ...WRITTEN, profile, alert: name },
    { ...JOB_OPTIONS, deduplication: { id: `${profile}.${name}`, keepLastIfActive: true } },
  );
};

/** Asks for a pass of every rule of the profiles. */
export const askAlerts = async (queues: Pick<Queues, "alert">, profiles: readonly Config[]): Promise<void> => {
  for (const { profile, alerts } of profiles) {
    for (const { name } of alerts) await askAlert(queues, { profile, alert: name });
  }
};

/** Makes a pass. Where a message is due again within the minute, the job is put off until then. */
export const processAlert = async (
  taken: ActiveJob<Job>,
  deps: KnownProfiles & AlertingDeps,
  logged: Logged,
): Promise<void> => {
  const pass = (config: Config, { alert }: AlertPayload) => passOf(config, alert, taken.signal, deps, logged);
  const waitMs = await runProfileJob(taken, alertPayload, deps, pass, ["ALERT_UNKNOWN", "ALERTS_MISSING"]);
  if (typeof waitMs === "number") await postpone(taken, waitMs, deps.clock.now());
};
