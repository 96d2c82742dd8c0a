// Finds syncs that the queue has dropped in the mirrors: DuckDB holds the truth, the queue only work in progress.
import type { Config } from "../../core/config/config.ts";
import { snapshotPath } from "../../core/data-dir.ts";
import type { AskedSync } from "../../core/report/triggers.ts";
import { readRun } from "../../warehouse/read/read-run.ts";
import { endedState } from "./asks.ts";
import { storedProblem } from "./failures.ts";

/**
 * Searches the run in every profile's snapshot; null when none has it, or when a kill ended it (recover.ts): nobody
 * carries that sync out any more, so it is asked for again. Throws QUERY_FAILED.
 */
export const findStored = async (profiles: readonly Config[], runId: string): Promise<AskedSync | null> => {
  for (const { dataDir, profile } of profiles) {
    const run = await readRun(snapshotPath(dataDir), runId);
    if (run === null) continue;
    if (run.status === "interrupted" && run.report === null) return null;
    const base = { runId, profile, askedAt: run.startedAt, report: run.report };
    // A verification has a different report; a finished one may have differences as its error.
    if (run.report === null)
      return { ...base, state: run.status === "done" ? "done" : "failed", error: storedProblem(run.error ?? "") };
    return { ...base, state: endedState(run.report.status), error: storedProblem(run.error ?? "") };
  }
  return null;
};
