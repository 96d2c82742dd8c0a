// Runs one sync: recovers killed runs, plans, fetches and loads, settles deletes, publishes, reports.
import { DuckmirrorError } from "../../core/errors.ts";
import { BrokenRun, type SyncResult } from "../../core/report/sync-report.ts";
import { beginRun } from "./begin-run.ts";
import { dispatch } from "./dispatcher.ts";
import { deleteAbsentRecords, finishRun, noteFault, type RunEnd, reportBroken, runEndOf } from "./finish-run.ts";
import type { SyncDeps, SyncOptions } from "./state/run-input.ts";

export type { SyncResult };

/**
 * Runs one sync. Rejects only on faults (disk full, a bug), with a BrokenRun where the fault has a code; everything that
 * the service causes is in the report. Publishes the snapshot at the end.
 */
export const runSync = async (options: SyncOptions, deps: SyncDeps): Promise<SyncResult> => {
  const begun = await beginRun(options, deps);
  const { run, planner, plan, firstResults } = begun;
  const work = async (): Promise<RunEnd> => {
    try {
      await dispatch(run, planner, plan).finally(run.ending.close);
      await firstResults?.stop();
      await deleteAbsentRecords(run);
      return await runEndOf(run);
    } catch (fault) {
      await firstResults?.stop();
      await noteFault(begun, fault);
      throw fault;
    }
  };
  try {
    return await finishRun(begun, await work());
  } catch (fault) {
    throw fault instanceof DuckmirrorError ? new BrokenRun(fault, reportBroken(begun)) : fault;
  }
};
