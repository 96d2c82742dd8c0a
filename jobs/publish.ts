// Job publish: the end of a sync. Publishes the snapshot if it lacks the sync's runs, and reports how the sync ended.
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { isCode } from "../src/core/errors.ts";
import { isUnused } from "../src/warehouse/file/empty-mirror.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import { readRun, readTraces } from "../src/warehouse/read/read-run.ts";
import { type FamilyEnd, mergeResults, type SyncOutcome } from "./merge-results.ts";

/** Errors that can strike a run after its last commit. */
const FAULTS: readonly string[] = ["DISK_FULL", "NO_MEMORY", "UNEXPECTED"];

/** A run publishes at its end, unless it was killed or the disk was full before that. A mirror that is gone has nothing. */
const isCurrent = async (dataDir: string, families: readonly FamilyEnd[]): Promise<boolean> => {
  if (isUnused(dataDir)) return true;
  const snapshot = snapshotPath(dataDir);
  const problems = families.flatMap(({ problem, results }) => [problem, ...results.map((result) => result.problem)]);
  if (problems.some((problem) => problem !== null && FAULTS.includes(problem.code))) return false;
  const ids = new Set(families.flatMap(({ results }) => results.map(({ report }) => report.run_id)));
  for (const id of ids) {
    const run = await readRun(snapshot, id);
    if (run === null || run.status === "running") return false;
  }
  return true;
};

interface PublishedSync {
  readonly syncId: string;
  readonly full: boolean;
}

interface PublishContext {
  readonly clock: Clock;
}

/** Publishes if needed, and returns the sync's report with the work of runs that left none. */
const publishAndReport = async (
  config: Config,
  sync: PublishedSync,
  families: readonly FamilyEnd[],
  { clock }: PublishContext,
): Promise<SyncOutcome> => {
  const snapshot = snapshotPath(config.dataDir);
  if (!(await isCurrent(config.dataDir, families))) {
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

/**
 * Publishes if needed. Throws WRITER_BUSY, QUERY_FAILED, DISK_FULL. A sync that a fault has ended keeps its report where
 * the same fault, such as a full disk, makes the publish fail.
 */
export const publishJob = async (
  config: Config,
  sync: PublishedSync,
  families: readonly FamilyEnd[],
  context: PublishContext,
): Promise<SyncOutcome> => {
  try {
    return await publishAndReport(config, sync, families, context);
  } catch (error) {
    const hasFailed = families.some(({ results }) => results.at(-1)?.report.status === "failed");
    if (!hasFailed || isCode(error, "WRITER_BUSY")) throw error;
    return mergeResults({ ...sync, snapshot: snapshotPath(config.dataDir) }, families, context.clock.now());
  }
};
