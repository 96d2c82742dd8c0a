// Job publish: the end of a sync. Publishes the snapshot if it lacks the sync's runs, and reports how the sync ended.
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import { readRun, readTraces } from "../src/warehouse/read/read-run.ts";
import { type FamilyEnd, mergeResults, type SyncOutcome } from "./merge-results.ts";

/** Errors that can strike a run after its last commit. */
const FAULTS: readonly string[] = ["DISK_FULL", "NO_MEMORY", "UNEXPECTED"];

/** A run publishes at its end, unless it was killed or the disk was full before that. */
const isCurrent = async (snapshot: string, families: readonly FamilyEnd[]): Promise<boolean> => {
  if (families.some(({ problem }) => problem !== null && FAULTS.includes(problem.code))) return false;
  const ids = new Set(families.flatMap(({ results }) => results.map(({ report }) => report.run_id)));
  for (const id of ids) {
    const run = await readRun(snapshot, id);
    if (run === null || run.status === "running") return false;
  }
  return true;
};

/** Publishes if needed. Throws WRITER_BUSY, QUERY_FAILED, DISK_FULL. */
export const publishJob = async (
  config: Config,
  sync: { readonly syncId: string; readonly full: boolean },
  families: readonly FamilyEnd[],
  { clock }: { readonly clock: Clock },
): Promise<SyncOutcome> => {
  const snapshot = snapshotPath(config.dataDir);
  if (!(await isCurrent(snapshot, families))) {
    const warehouse = await openWarehouse({
      dataDir: config.dataDir,
      clock,
      memory: config.memory,
      auditRetentionDays: config.audit.retentionDays,
    });
    try {
      await warehouse.publish();
    } finally {
      await warehouse.close();
    }
  }
  const reported = new Set(families.flatMap(({ results }) => results.map(({ report }) => report.run_id)));
  const traces = await readTraces(snapshot, sync.syncId, reported);
  return mergeResults({ ...sync, snapshot, traces }, families, clock.now());
};
