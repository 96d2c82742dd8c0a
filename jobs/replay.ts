// Job replay: rebuilds the working database from the archive, or from a baseline and the archive since, and publishes it. Calls no service and
// needs no token; a mirror with a home keeps the result there.
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { ProgressSink } from "../src/core/report/sync-progress.ts";
import { replay } from "../src/sync/recovery/replay.ts";
import { readForgotten } from "../src/warehouse/archive/forgotten-list.ts";
import { type Baseline, holdsOlderValues, readBaseline, settleRules } from "../src/warehouse/file/baseline/baseline.ts";
import { rebuildWarehouse } from "../src/warehouse/file/rebuild.ts";
import { removeOldCopies } from "../src/warehouse/file/upkeep/history-retention.ts";
import { warehousePaths } from "../src/warehouse/file/working-file.ts";
import { beginsAtFirst } from "../src/warehouse/journal/read-journal.ts";
import { tableStrictness } from "../src/warehouse/record/normalize-record.ts";
import { redactorOf } from "./engine.ts";
import { enterHome, homeOf } from "./home.ts";

export interface ReplayContext {
  readonly clock: Clock;
  readonly emit: ProgressSink;
  /** Interrupts the replay, until the new file replaces the working file; from then on the replay continues to its end. */
  readonly signal?: AbortSignal;
}

/** Object printed by `replay --json`. */
export interface ReplayReport {
  /** When the baseline it started from was made; null: from the first response. */
  readonly baseline: string | null;
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

/** The rules that decide which values are stored, as text. */
export const fieldRules = ({ excludeFields, hashFields }: Config): readonly string[] => [
  ...excludeFields.map((field) => `exclude ${field}`),
  ...hashFields.map((field) => `hash ${field}`),
];

interface Store {
  readonly state: string;
  readonly archiveDir: string;
  readonly rules: readonly string[];
}

/**
 * The baseline to start from; null: start from the first change of the archive. That is so without a baseline, on request, and
 * if the baseline is older than a field rule and the archive is whole: the baseline holds values that the rule excludes, a
 * replay of the archive does not. Throws ARCHIVE_INCOMPLETE.
 */
const startOf = async (
  { state, archiveDir, rules }: Store,
  request: { readonly partial: boolean; readonly fromStart?: boolean },
): Promise<Baseline | null> => {
  const isWhole = await beginsAtFirst(archiveDir);
  if (request.fromStart === true) {
    if (isWhole || request.partial) return null;
    throw new DuckmirrorError("ARCHIVE_INCOMPLETE", { detail: "what it held before the baseline was removed" });
  }
  const baseline = await readBaseline(state);
  if (baseline === null || !(await holdsOlderValues(state, rules))) return baseline;
  if (isWhole) return null;
  if (request.partial) return baseline;
  const detail =
    "exclude_fields or hash_fields were changed after the baseline was made, and what the archive held before it was removed; --partial starts from the baseline and keeps those values";
  throw new DuckmirrorError("ARCHIVE_INCOMPLETE", { detail });
};

/**
 * Rebuilds the working database. Throws WRITER_BUSY, ARCHIVE_INCOMPLETE, REPLAY_INTERRUPTED and faults; after an error
 * nothing has changed.
 */
export const replayJob = async (
  config: Config,
  request: { readonly partial: boolean; readonly fromStart?: boolean },
  { clock, emit, signal }: ReplayContext,
): Promise<ReplayReport> => {
  const startedAt = clock.now();
  const { state, archiveDir } = warehousePaths(config.dataDir);
  await enterHome(config, clock);
  const redact = await redactorOf(config, await readForgotten(archiveDir));
  const rules = fieldRules(config);
  const baseline = await startOf({ state, archiveDir, rules }, request);
  const { result, tables, kept, published } = await rebuildWarehouse(
    {
      dataDir: config.dataDir,
      clock,
      memory: config.memory,
      keepSnapshots: config.keepSnapshots,
      home: homeOf(config, clock),
      auditRetentionDays: config.audit.retentionDays,
      strictness: tableStrictness(config.strictness),
      baseline,
    },
    (target) => replay(target, { partial: request.partial, emit, redact, signal }),
  );
  if (baseline === null && result.missing.length === 0) await settleRules(state, rules);
  await removeOldCopies(state, clock.now());
  emit({ kind: "published", path: published.path, bytes: published.bytes, ms: published.durationMs });
  return {
    baseline: baseline === null ? null : new Date(baseline.made_at).toISOString(),
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
