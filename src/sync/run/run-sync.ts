// Runs one sync: recovers killed runs, plans, fetches and loads, settles deletes, publishes, reports.
import type { DuckmirrorError } from "../../core/errors.ts";
import type { SyncReport } from "../../core/report/sync-report.ts";
import type { SyncDeps, SyncOptions } from "../running/run-state.ts";
import { beginRun } from "./begin-run.ts";
import { dispatch } from "./dispatcher.ts";
import { finishRun, noteFault, settleRest } from "./finish-run.ts";
import { type End, endOf } from "./how-it-ended.ts";

/** Report of a run, and the reason if it is incomplete. */
export interface SyncResult {
  readonly report: SyncReport;
  /** null: all due work is done. */
  readonly error: DuckmirrorError | null;
}

/**
 * Runs one sync. Rejects only on faults (disk full, a bug); everything that the service causes is in the report.
 * Publishes the snapshot at the end.
 */
export const runSync = async (options: SyncOptions, deps: SyncDeps): Promise<SyncResult> => {
  const begun = await beginRun(options, deps);
  const { run, planner, plan } = begun;
  let end: End;
  try {
    await dispatch(run, planner, plan).finally(run.ending.close);
    await settleRest(run);
    end = await endOf(run);
  } catch (fault) {
    await noteFault(run, fault);
    throw fault;
  }
  return { report: await finishRun(begun, end), error: end.error };
};
