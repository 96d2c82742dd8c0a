// Deliveries, as the job makes them.
import { type DeliveryReport, deliverJob } from "../../jobs/deliver.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Config } from "../../src/core/config/config.ts";
import type { Delivered } from "../../src/deliver/destination.ts";
import { configOf } from "../support/given-config.ts";

interface More {
  /** Folder in which relative addresses start. */
  readonly at?: string;
  /** More of the environment, e.g. credentials. */
  readonly env?: Readonly<Record<string, string>>;
  readonly now?: () => number;
  readonly takeOver?: boolean;
}

/** `setting`: text of the setting `destinations`. */
export const configFor = (dataDir: string, setting: string, { at = dataDir, env = {} }: More = {}): Config =>
  configOf(null, { ...env, DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_DESTINATIONS: setting }, undefined, at);

export const reportOf = async (dataDir: string, setting: string, more: More = {}): Promise<DeliveryReport> => {
  const { now = systemClock.now, takeOver = false } = more;
  const context = { clock: { now }, signal: new AbortController().signal };
  const [report] = await deliverJob(configFor(dataDir, setting, more), { names: [], takeOver }, context);
  if (report === undefined) throw new Error("nothing was delivered");
  return report;
};

/** What was delivered; throws the error of a delivery that failed. */
export const delivered = async (...call: Parameters<typeof reportOf>): Promise<Delivered> => {
  const { error, delivered: done } = await reportOf(...call);
  if (error !== null || done === null) throw error ?? new Error("nothing was delivered");
  return done;
};
