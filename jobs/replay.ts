// Job replay: rebuilds the working database from the archive and publishes it. Sends nothing, needs no token.
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import type { ProgressSink } from "../src/core/report/progress-events.ts";
import { replay } from "../src/sync/recovery/replay.ts";
import { readForgotten } from "../src/warehouse/archive/forgotten-list.ts";
import { rebuildWarehouse } from "../src/warehouse/file/rebuild.ts";
import { removeOldCopies } from "../src/warehouse/file/upkeep/leftovers.ts";
import { warehousePaths } from "../src/warehouse/file/working-file.ts";
import { tableStrictness } from "../src/warehouse/record/strict-rows.ts";
import { redactorOf } from "./redaction.ts";

export interface ReplayContext {
  readonly clock: Clock;
  readonly emit: ProgressSink;
}

/** Object printed by `replay --json`. */
export interface ReplayReport {
  readonly runs: number;
  readonly responses: number;
  /** Number of loaded records. */
  readonly rows: number;
  /** Rows per table of the rebuilt mirror. */
  readonly tables: Readonly<Record<string, number>>;
  readonly duration_ms: number;
  /** Descriptions of what the archive lacks; empty unless --partial. */
  readonly missing: readonly string[];
  /** Path of the kept old working database; null if there was none. */
  readonly kept: string | null;
  /** Path of the published snapshot. */
  readonly warehouse: string;
}

/**
 * Rebuilds the working database. Throws WRITER_BUSY, ARCHIVE_INCOMPLETE and faults; after an error nothing has
 * changed.
 */
export const replayJob = async (
  config: Config,
  request: { readonly partial: boolean },
  { clock, emit }: ReplayContext,
): Promise<ReplayReport> => {
  const startedAt = clock.now();
  const { state, archiveDir } = warehousePaths(config.dataDir);
  const redact = await redactorOf(config, await readForgotten(archiveDir));
  const { result, tables, kept, published } = await rebuildWarehouse(
    {
      dataDir: config.dataDir,
      clock,
      memory: config.memory,
      auditRetentionDays: config.audit.retentionDays,
      strictness: tableStrictness(config.strictness),
    },
    (target) => replay(target, { partial: request.partial, emit, redact }),
  );
  await removeOldCopies(state, clock.now());
  emit({ kind: "published", path: published.path, bytes: published.bytes, ms: published.durationMs });
  return {
    runs: result.runs,
    responses: result.responses,
    rows: result.rows,
    tables,
    duration_ms: clock.now() - startedAt,
    missing: result.missing,
    kept,
    warehouse: published.path,
  };
};
