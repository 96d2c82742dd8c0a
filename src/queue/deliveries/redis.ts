// Runs deliveries as jobs of BullMQ: one job per destination, requested after each publish. A request while a job waits adds nothing,
// because that job delivers the newest snapshot; a request while a job runs adds one more.
import type { Job } from "bullmq";
import type { Config } from "../../core/config/config.ts";
import { type ActiveJob, type KnownProfiles, runProfileJob } from "../redis/job-consumers.ts";
import { JOB_OPTIONS, type Queues } from "../redis/queues.ts";
import { type DeliverPayload, deliverPayload, WRITTEN } from "../requests/job-payloads.ts";
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
    { ...WRITTEN, syncId, profile, destination },
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

/** Delivers. A failure is tried again by BullMQ, unless only a change of configuration mends it (job-consumers.ts). */
export const processDeliver = (taken: ActiveJob<Job>, deps: KnownProfiles & DeliveryDeps): Promise<void> =>
  runProfileJob(
    taken,
    deliverPayload,
    deps,
    (config, { destination: name }) =>
      deliverTo(config, { name, attempt: taken.job.attemptsMade + 1 }, taken.signal, deps),
    ["DESTINATION_UNKNOWN", "DESTINATIONS_MISSING"],
  );
