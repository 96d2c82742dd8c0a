// Handles jobs that a worker took, for a publish, an export or a schedule's tick: validates each, calls its function,
// stores the result. Each function returns the job's result, throws to leave a dead letter, or postpones the job.
import type { Job } from "bullmq";
import { exportJob } from "../../../jobs/export.ts";
import { familyNamed } from "../../../jobs/families.ts";
import type { FamilyEnd } from "../../../jobs/merge-results.ts";
import type { publishJob } from "../../../jobs/publish.ts";
import type { Config } from "../../core/config/config.ts";
import { isCode } from "../../core/errors.ts";
import { EXPORT_FORMATS } from "../../warehouse/export/tables.ts";
import type { Triggers } from "../asking/asks.ts";
import { storedProblem } from "../asking/failures.ts";
import {
  exportPayload,
  familyProgress,
  isForOthers,
  type StoredOutcome,
  type SyncPayload,
  syncOutcome,
  syncPayload,
  tickPayload,
  WRITTEN,
} from "../asking/payloads.ts";
import { startScheduled } from "../asking/scheduled-start.ts";
import type { Queues } from "../redis/queues.ts";
import { type FamilyDeps, scrubbed } from "./run-family.ts";
import { ABORT, BUSY_MS, HANDED_ON_MS } from "./sync-life.ts";
import { knownProfile, leaveUnread, putOff, readPayload, SYNC_PATIENCE_MS, type Taken } from "./taken-job.ts";

const TICK_PATIENCE_MS = 600_000;

export interface PublishDeps extends Omit<FamilyDeps, "sessions"> {
  readonly publish: typeof publishJob;
  /** Asks for the deliveries that follow a publish; unset: there are none. */
  readonly askDeliveries?: (syncId: string, profile: Config) => Promise<void>;
  /** Asks for the alerts that follow a publish; unset: there are none. */
  readonly askAlerts?: (profile: Config) => Promise<void>;
}

export interface ProcessorDeps extends FamilyDeps, PublishDeps {
  readonly queues: Pick<Queues, "schedule">;
  readonly triggers: Pick<Triggers, "start">;
  /** In [0, 1). */
  readonly random: () => number;
  readonly warn: (text: string) => void;
}

/** End of each family of the sync: results of completed jobs, stored progress of failed ones. */
const endsOf = async (taken: Taken, sync: SyncPayload, deps: PublishDeps): Promise<readonly FamilyEnd[]> => {
  const ends = await deps.board.ends(sync);
  const unread = [...ends.values()].find(({ progress }) => isForOthers(progress));
  if (unread !== undefined) return leaveUnread(taken, unread.progress, SYNC_PATIENCE_MS, deps.clock.now());
  return sync.families.flatMap((name): FamilyEnd[] => {
    const family = familyNamed(name);
    if (family === undefined) return [];
    const end = ends.get(name);
    const kept = familyProgress.safeParse(end?.progress).data;
    const failed = end?.failure == null || kept !== undefined ? null : storedProblem(end.failure);
    const streams = family.streams.filter((stream) => sync.streams.includes(stream));
    return [{ streams, results: kept?.results ?? [], problem: failed ?? kept?.problem ?? null }];
  });
};

/** Ends a sync: makes the snapshot current and stores the report. */
export const processPublish = async (taken: Taken, deps: PublishDeps): Promise<StoredOutcome> => {
  const sync = await readPayload(syncPayload, taken, SYNC_PATIENCE_MS, deps);
  const profile = await knownProfile(taken, sync.profile, SYNC_PATIENCE_MS, deps);
  const ends = await endsOf(taken, sync, deps);
  const cancelled = await deps.board.isCancelled(sync.syncId);
  try {
    const { report, problem } = await deps.publish(profile, sync, ends, deps);
    await deps.askDeliveries?.(sync.syncId, profile);
    await deps.askAlerts?.(profile);
    const outcome = { ...WRITTEN.result, report, problem, cancelled: cancelled && report.status === "interrupted" };
    return scrubbed(syncOutcome, outcome, deps);
  } catch (error) {
    if (isCode(error, "WRITER_BUSY")) return putOff(taken, BUSY_MS, deps.clock.now());
    throw error;
  }
};

/** Writes the profile's exports. */
export const processExport = async (taken: Taken, deps: ProcessorDeps): Promise<readonly string[]> => {
  const { signal } = taken;
  const { profile: name } = await readPayload(exportPayload, taken, SYNC_PATIENCE_MS, deps);
  const profile = await knownProfile(taken, name, SYNC_PATIENCE_MS, deps);
  try {
    return await exportAll(profile, signal);
  } catch (error) {
    if (isCode(error, "WRITER_BUSY")) return putOff(taken, BUSY_MS, deps.clock.now());
    if (signal.aborted && signal.reason === ABORT.stopping) return putOff(taken, HANDED_ON_MS, deps.clock.now());
    throw error;
  }
};

/** Brings every export folder up to date with the snapshot; returns the formats. Throws the errors of `exportJob`. */
export const exportAll = async (profile: Config, signal: AbortSignal): Promise<readonly string[]> => {
  const formats = EXPORT_FORMATS.filter((format) => profile.exportFormats.includes(format));
  for (const format of formats) {
    const guardFormulas = format === "csv" && profile.exportGuardFormulas;
    await exportJob(profile, { dir: null, format, tables: [], since: null, guardFormulas }, { signal });
  }
  return formats;
};

/** A schedule is due: requests its sync like any other caller. */
export const processTick = async (taken: Taken<Job>, deps: ProcessorDeps) => {
  const { job } = taken;
  const tick = await readPayload(tickPayload, taken, TICK_PATIENCE_MS, deps);
  let config: Config;
  try {
    config = await knownProfile(taken, tick.profile, TICK_PATIENCE_MS, deps);
  } catch (error) {
    // No worker has this organization any more, so its schedule ends.
    if (isCode(error, "PROFILE_UNKNOWN")) await deps.queues.schedule.removeJobScheduler(tick.schedule);
    throw error;
  }
  if (!tick.putOff && tick.jitterMs > 0) {
    await job.updateData({ ...tick, putOff: true });
    return putOff(taken, Math.floor(deps.random() * tick.jitterMs), deps.clock.now());
  }
  const { profile, streams, full } = tick;
  // A tick that is delivered twice requests one sync.
  return startScheduled({ profile, streams, full, idempotencyKey: `schedule ${job.id}` }, config, deps);
};
