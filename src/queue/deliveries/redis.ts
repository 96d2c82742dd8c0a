// Deliveries on BullMQ: one job per destination, asked for at the end of each publish. While one waits, another ask adds
// nothing, because it will take the newest snapshot; while one runs, another ask is followed by one more.
import type { Job } from "bullmq";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { isCode } from "../../core/errors.ts";
import { ABORT, HANDED_ON_MS } from "../asking/failures.ts";
import { type DeliverPayload, deliverPayload, WRITTEN } from "../asking/payloads.ts";
import { JOB_OPTIONS, type Queues } from "../redis/queues.ts";
import { knownProfile, putOff, readPayload, type Taken } from "../redis/taken-job.ts";
import { ATTEMPTS, type DeliveryDeps, deliverTo, FIRST_WAIT_MS } from "./local.ts";

type Ask = Pick<DeliverPayload, "syncId" | "profile" | "destination">;

/** Asks for one delivery. `waitMs`: after its first failed attempt. */
export const askDelivery = async (
  { deliver }: Pick<Queues, "deliver">,
  { syncId, profile, destination }: Ask,
  waitMs = FIRST_WAIT_MS,
) => {
  await deliver.add(
    "deliver",
    { ...WRITTEN.ask, syncId, profile, destination },
    {
      ...JOB_OPTIONS,
      attempts: ATTEMPTS,
      backoff: { type: "exponential", delay: waitMs },
      deduplication: { id: `${profile}.${destination}`, keepLastIfActive: true },
    },
  );
};

/** Asks for a delivery to every destination of the profile. */
export const askDeliveries = async (
  queues: Pick<Queues, "deliver">,
  syncId: string,
  config: Config,
  waitMs?: number,
): Promise<void> => {
  const { profile } = config;
  for (const { name } of config.destinations) await askDelivery(queues, { syncId, profile, destination: name }, waitMs);
};

/** Delivers. A failure is tried again by BullMQ, unless only a change of configuration mends it (take-jobs.ts). */
export const processDeliver = async (
  taken: Taken<Job>,
  deps: { readonly profiles: readonly Config[]; readonly clock: Pick<Clock, "now"> } & DeliveryDeps,
): Promise<void> => {
  const { signal } = taken;
  const { profile, destination } = await readPayload(deliverPayload, taken, deps);
  const config = await knownProfile(taken, profile, deps);
  try {
    await deliverTo(config, { name: destination, attempt: taken.job.attemptsMade + 1 }, signal, deps);
  } catch (error) {
    if (signal.aborted && signal.reason === ABORT.stopping) return putOff(taken, HANDED_ON_MS, deps.clock.now());
    // It is no longer configured.
    if (isCode(error, "DESTINATION_UNKNOWN") || isCode(error, "DESTINATIONS_MISSING")) return;
    throw error;
  }
};
