// Alerts on BullMQ: one job per rule, requested after each publish and once a minute. A request while a job waits adds
// nothing, because that job takes what is new by then; a request while a job runs adds one more. Messages, their
// attempts and dead letters are files of the rule (alerts/store), so that Redis may lose everything.
import type { Job } from "bullmq";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { isCode } from "../../core/errors.ts";
import { ABORT, HANDED_ON_MS } from "../asking/failures.ts";
import { type AlertPayload, alertPayload, WRITTEN } from "../asking/payloads.ts";
import { JOB_OPTIONS, type Queues } from "../redis/queues.ts";
import { knownProfile, putOff, readPayload, type Taken } from "../redis/taken-job.ts";
import { type AlertingDeps, CHECK_MS, type Logged, passOf } from "./local.ts";

/** Asks for one pass of a rule. */
export const askAlert = async (
  { alert }: Pick<Queues, "alert">,
  { profile, alert: name }: Pick<AlertPayload, "profile" | "alert">,
): Promise<void> => {
  await alert.add(
    "alert",
    { ...WRITTEN.ask, profile, alert: name },
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
  taken: Taken<Job>,
  deps: { readonly profiles: readonly Config[]; readonly clock: Pick<Clock, "now"> } & AlertingDeps,
  logged: Logged,
): Promise<void> => {
  const { signal } = taken;
  const { profile, alert } = await readPayload(alertPayload, taken, deps);
  const config = await knownProfile(taken, profile, deps);
  let waitMs: number;
  try {
    waitMs = await passOf(config, alert, signal, deps, logged);
  } catch (error) {
    if (signal.aborted && signal.reason === ABORT.stopping) return putOff(taken, HANDED_ON_MS, deps.clock.now());
    // It is no longer configured.
    if (isCode(error, "ALERT_UNKNOWN") || isCode(error, "ALERTS_MISSING")) return;
    throw error;
  }
  if (waitMs < CHECK_MS) await putOff(taken, waitMs, deps.clock.now());
};
