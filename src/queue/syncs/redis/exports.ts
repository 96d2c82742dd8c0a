// Exports on BullMQ: one job per sync, asked for after its publish.
import { exportAll } from "../../../../jobs/export.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { isCode } from "../../../core/errors.ts";
import { ABORT, BUSY_MS, HANDED_ON_MS } from "../../asking/failures.ts";
import { exportPayload, type SyncPayload, WRITTEN } from "../../asking/payloads.ts";
import { JOB_OPTIONS, type Queues } from "../../redis/queues.ts";
import { knownProfile, putOff, readPayload, type Taken } from "../../redis/taken-job.ts";

/** Asks for the exports of a profile, where it has any. */
export const askExport = async (
  { export: queue }: Pick<Queues, "export">,
  { syncId, profile, traceparent }: SyncPayload,
  { exportFormats }: Config,
): Promise<void> => {
  if (exportFormats.length === 0) return;
  const traced = traceparent === undefined ? {} : { traceparent };
  await queue.add(
    "export",
    { ...WRITTEN.ask, syncId, profile, ...traced },
    { ...JOB_OPTIONS, jobId: `${syncId}.export` },
  );
};

export interface ExportDeps {
  readonly profiles: readonly Config[];
  readonly clock: Pick<Clock, "now">;
  /** Called with the written formats. */
  readonly onExported: (formats: readonly string[], ms: number, run: { runId: string; profile: string }) => void;
}

/** Writes the profile's exports; returns the formats. */
export const processExport = async (taken: Taken, deps: ExportDeps): Promise<readonly string[]> => {
  const { signal } = taken;
  const { profile: name, syncId: runId } = await readPayload(exportPayload, taken, deps);
  const profile = await knownProfile(taken, name, deps);
  const startedAt = performance.now();
  try {
    const formats = await exportAll(profile, signal);
    deps.onExported(formats, performance.now() - startedAt, { runId, profile: name });
    return formats;
  } catch (error) {
    if (isCode(error, "WRITER_BUSY")) return putOff(taken, BUSY_MS, deps.clock.now());
    if (signal.aborted && signal.reason === ABORT.stopping) return putOff(taken, HANDED_ON_MS, deps.clock.now());
    throw error;
  }
};
