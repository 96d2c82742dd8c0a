// Rebuilds the working file: applies the journal's changes to a new file, checks it, and replaces the old file. The
// old file is never opened, so it may be damaged or missing; it is kept under another name.

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { TABLE_NAMES } from "../../catalog/tables.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { flushToDisk, moveOver } from "../../core/system.ts";
import { readForgotten, refuseUnfinished } from "../archive/forgotten-list.ts";
import { loadTrail } from "../audit/load-trail.ts";
import type { Database } from "../duckdb/database.ts";
import { statementError } from "../duckdb/duck-errors.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { instant } from "../duckdb/statements.ts";
import { applyOnce, openJournal } from "../journal/journal.ts";
import type { JournalEvent } from "../journal/journal-event.ts";
import { replayChange } from "../load/changes.ts";
import { countRows } from "../load/walks.ts";
import type { TableLoad } from "../record/checkpoint.ts";
import { EVOLVING } from "../record/normalize-record.ts";
import { type Baseline, copyDurably, proveBaseline } from "./baseline/baseline.ts";
import { createFeedCheck, redactedChanges, startPendingFeed } from "./feed-check.ts";
import { type Published, publishSnapshot, removeLeftovers, stampPublished } from "./publish/publish.ts";
import { besides } from "./publish/rewrite-file.ts";
import { enterMirror, openWorking, type WarehouseOptions, warehousePaths } from "./working-file.ts";

export interface Rebuilding {
  readonly archiveDir: string;
  /** Number of the last change that the file holds from the start: that of the baseline, or 0. */
  readonly after: number;
  /** Applies a change of the journal in one transaction. `loads`: the rows of a commit, in the order of its entry. */
  apply(event: JournalEvent, loads: readonly TableLoad[]): Promise<void>;
  /** Runs a statement of sql/ on the new file. */
  run(statement: string): Promise<void>;
}

export interface RebuildOptions extends WarehouseOptions {
  /** The file to start from; null: an empty one. */
  readonly baseline: Baseline | null;
}

export interface Rebuilt<T> {
  readonly result: T;
  readonly tables: Readonly<Record<string, number>>;
  /** Path where the old file was kept; null if there was none. */
  readonly kept: string | null;
  readonly published: Published;
}

const rowCounts = async (database: Database): Promise<Readonly<Record<string, number>>> => {
  const counts: Record<string, number> = {};
  for (const table of TABLE_NAMES) counts[table] = await countRows(database, table);
  return counts;
};

/** Reads the closed file like a new process. Throws UNEXPECTED when it does not hold the written rows. */
const check = async (file: string, options: WarehouseOptions, written: Readonly<Record<string, number>>) => {
  const database = await openWorking(file, options);
  try {
    const found = await rowCounts(database);
    const wrong = TABLE_NAMES.find((table) => found[table] !== written[table]);
    if (wrong === undefined) return;
    const detail = `${wrong} holds ${found[wrong]} of ${written[wrong]} rows written`;
    throw new DuckmirrorError("UNEXPECTED", { detail: `the rebuilt file is damaged: ${detail}` });
  } finally {
    await database.close();
  }
};

/**
 * Replaces the old file by the new one. A crash between two steps leaves an older working file or none; opening the
 * warehouse detects both (WAREHOUSE_BEHIND).
 */
const takePlace = async (fresh: string, working: string, now: number): Promise<string | null> => {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
  const kept = existsSync(working) ? `${working}.${stamp}.old` : null;
  // DuckDB would apply a remaining WAL to the new file.
  if (existsSync(`${working}.wal`)) await moveOver(`${working}.wal`, `${working}.${stamp}.old.wal`);
  if (kept !== null) await moveOver(working, kept);
  await moveOver(fresh, working);
  await flushToDisk(dirname(working));
  return kept;
};

const fill = async <T>(
  file: string,
  options: RebuildOptions,
  build: (target: Rebuilding) => Promise<T>,
): Promise<{ readonly result: T; readonly counts: Readonly<Record<string, number>> }> => {
  const { baseline } = options;
  if (baseline !== null) {
    await proveBaseline(baseline);
    await copyDurably(baseline.path, file);
  }
  const database = await openWorking(file, options);
  const { archiveDir } = warehousePaths(options.dataDir);
  // A copy has the time of the file that it was made of.
  if (baseline !== null) await database.run(sqlText("warehouse/date-migrations.sql"), [instant(options.clock.now())]);
  const feed = createFeedCheck(database);
  try {
    const past = await redactedChanges(archiveDir);
    const result = await build({
      archiveDir,
      after: baseline?.applied ?? 0,
      apply: ({ seq, entry }, loads) =>
        applyOnce(database, seq, (tx) => replayChange(tx, entry, loads, options.strictness ?? EVOLVING, past)).then(
          () => feed.note(entry),
        ),
      run: async (statement) => {
        await database.run(sqlText(statement));
      },
    });
    await feed.end();
    const counts = await rowCounts(database);
    await database.flushWal();
    return { result, counts };
  } finally {
    await database.close();
  }
};

/** Starts the change feed of the rebuilt file if its numbers differ from those before. */
const startFeedAgain = async (database: Database, { dataDir, clock }: WarehouseOptions): Promise<void> => {
  const journal = await openJournal({ dir: warehousePaths(dataDir).archiveDir, database, clock });
  await startPendingFeed(database, journal, clock.now()).finally(() => journal.close());
};

const publishRebuilt = async (options: WarehouseOptions): Promise<Published> => {
  const { working, snapshot } = warehousePaths(options.dataDir);
  const { auditRetentionDays: retentionDays = null, clock, dataDir } = options;
  const database = await openWorking(working, options);
  try {
    await startFeedAgain(database, options);
    await loadTrail(database, dataDir, { retentionDays, now: clock.now() });
    await stampPublished(database, clock.now());
    return await publishSnapshot(database, snapshot, {
      now: () => clock.now(),
      keeping: options.keepSnapshots ?? null,
      home: options.home,
    });
  } finally {
    await database.close();
  }
};

/**
 * Rebuilds the working file of a data directory and publishes it. `build` fills the new file; if it throws, nothing
 * changed. Throws WRITER_BUSY, FORGET_UNFINISHED, DATA_DIR_UNWRITABLE, DISK_FULL, and errors of `build`.
 */
export const rebuildWarehouse = async <T>(
  options: RebuildOptions,
  build: (target: Rebuilding) => Promise<T>,
): Promise<Rebuilt<T>> => {
  const { working, snapshot, archiveDir } = warehousePaths(options.dataDir);
  const lock = await enterMirror(options);
  try {
    refuseUnfinished(await readForgotten(archiveDir));
    await removeLeftovers(snapshot);
    return await besides(working, async (fresh) => {
      const { result, counts } = await fill(fresh, options, build);
      await check(fresh, options, counts);
      await flushToDisk(fresh);
      const kept = await takePlace(fresh, working, options.clock.now());
      return { result, tables: counts, kept, published: await publishRebuilt(options) };
    });
  } catch (error) {
    throw error instanceof DuckmirrorError ? error : statementError(error);
  } finally {
    await lock.release();
  }
};
