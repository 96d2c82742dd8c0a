// How a sync ends: its report with the reason if work is left. A fault, such as a full disk, is thrown with the report of what
// the run had done by then.
import { DuckmirrorError } from "../../core/errors.ts";
import type { SyncReport } from "../../core/report/sync-report.ts";

/** Report of a run, and the reason if it is incomplete. */
export interface SyncResult {
  readonly report: SyncReport;
  /** null: all due work is done. */
  readonly error: DuckmirrorError | null;
}

export class BrokenRun extends DuckmirrorError {
  readonly report: SyncReport;

  constructor(fault: DuckmirrorError, report: SyncReport) {
    const { cause: _, ...context } = fault.context;
    super(fault.code, context, { cause: fault });
    this.report = report;
  }
}

/** Result of a run, also of one that a fault with a code ended. Rejects on other faults. */
export const orBroken = async (run: Promise<SyncResult>): Promise<SyncResult> => {
  try {
    return await run;
  } catch (error) {
    if (error instanceof BrokenRun) return { report: error.report, error };
    throw error;
  }
};
