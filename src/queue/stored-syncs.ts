// Syncs that the queue has forgotten, as the mirrors know them: DuckDB holds the truth, the queue only work in flight.
import type { Config } from "../core/config/config.ts";
import { snapshotPath } from "../core/data-dir.ts";
import { readRun } from "../warehouse/read/read-run.ts";
import { type AskedSync, endedState } from "./asks.ts";
import { toldFailure } from "./failures.ts";

/** Looks the run up in every profile's snapshot; null when none knows it. Throws QUERY_FAILED. */
export const findStored = async (profiles: readonly Config[], runId: string): Promise<AskedSync | null> => {
  for (const { dataDir, profile } of profiles) {
    const run = await readRun(snapshotPath(dataDir), runId);
    if (run === null) continue;
    const base = { runId, profile, askedAt: run.startedAt, report: run.report };
    // A verification keeps another report; done, it may name differences as its error.
    if (run.report === null)
      return { ...base, state: run.status === "done" ? "done" : "failed", error: toldFailure(run.error ?? "") };
    return { ...base, state: endedState(run.report.status), error: toldFailure(run.error ?? "") };
  }
  return null;
};
