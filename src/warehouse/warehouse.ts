// The warehouse as the rest of the program sees it: one writer, checkpoints, walks, runs, the published snapshot.
import { z } from "zod";
import { isStreamName, type StreamName } from "../catalog/streams.ts";
import type { TableName } from "../catalog/tables.ts";
import { type Changes, journalledChanges } from "./changes.ts";
import type { ScopeState } from "./checkpoint.ts";
import type { Database } from "./database.ts";
import { openError } from "./duck-errors.ts";
import { readForgotten, refuseUnfinished } from "./forgotten-list.ts";
import { type Journal, openJournal } from "./journal.ts";
import { type Published, publishSnapshot, removeLeftovers } from "./publish.ts";
import { sqlText } from "./sql-files.ts";
import * as walks from "./walks.ts";
import { enterDataDir, openWorking, type WarehouseOptions, warehousePaths } from "./working-file.ts";

export interface Warehouse extends Changes {
  readonly database: Database;
  /** Path of the snapshot that readers open. */
  readonly snapshot: string;
  /** Directory of the archive. */
  readonly archiveDir: string;
  scopeStates(stream?: StreamName): Promise<readonly ScopeState[]>;
  /** Committed requests of a run. */
  requestsOf(runId: string): Promise<ReadonlySet<string>>;
  /** What was learned about the service: name → JSON text. */
  capabilities(): Promise<ReadonlyMap<string, string>>;
  /** Mirrored rows in scope that the walk did not meet; `sampleSize` ids of them (default 20). */
  missing(scope: walks.WalkScope & { readonly sampleSize?: number }): Promise<walks.Missing>;
  /** Distinct records that the walk has met. */
  seenCount(walkId: string): Promise<number>;
  countRows(table: TableName, company?: string): Promise<number>;
  /** Replaces the snapshot with the present state, atomically. */
  publish(): Promise<Published>;
  /** Closes the file and lets another writer in. */
  close(): Promise<void>;
}

const stateRow = z
  .object({
    stream: z.string().refine(isStreamName),
    scope: z.string(),
    status: z.enum(["idle", "walking", "failed"]),
    walk_id: z.string().nullable(),
    cursor: z.string().nullable(),
    watermark: z.number().nullable(),
    total_count: z.number().nullable(),
    rows_at_walk: z.number().nullable(),
    checked_at: z.number().nullable(),
    walked_at: z.number().nullable(),
    error: z.string().nullable(),
    run_id: z.string(),
  })
  .transform(
    (row): ScopeState => ({
      stream: row.stream,
      scope: row.scope,
      status: row.status,
      walkId: row.walk_id,
      cursor: row.cursor,
      watermark: row.watermark,
      totalCount: row.total_count,
      rowsAtWalk: row.rows_at_walk,
      checkedAt: row.checked_at,
      walkedAt: row.walked_at,
      error: row.error,
      runId: row.run_id,
    }),
  );
const requestRow = z.object({ request_id: z.string() });
const capabilityRow = z.object({ name: z.string(), value: z.string() });

/**
 * Opens the data directory for writing, creating and migrating what is missing.
 * Throws WRITER_BUSY, WAREHOUSE_NEWER, WAREHOUSE_BEHIND, MIGRATION_CHANGED, WAREHOUSE_CORRUPT, FORGET_UNFINISHED,
 * FORGOTTEN_UNREADABLE, DATA_DIR_UNWRITABLE or DISK_FULL.
 */
export const openWarehouse = async (options: WarehouseOptions): Promise<Warehouse> => {
  const { dataDir, clock } = options;
  const { archiveDir, snapshot, working } = warehousePaths(dataDir);
  const lock = await enterDataDir(dataDir);
  let database: Database;
  let journal: Journal;
  try {
    refuseUnfinished(await readForgotten(archiveDir));
    await removeLeftovers(snapshot);
    database = await openWorking(working, options);
    journal = await openJournal({ dir: archiveDir, database, clock }).catch(async (error: unknown) => {
      await database.close();
      throw error;
    });
  } catch (error) {
    await lock.release();
    throw openError(error, working, dataDir);
  }

  return {
    database,
    snapshot,
    archiveDir,
    ...journalledChanges(database, journal),
    scopeStates: (stream) => database.query(sqlText("warehouse/scope-states.sql"), [stream ?? null], stateRow),
    requestsOf: async (runId) => {
      const rows = await database.query(sqlText("warehouse/requests-of-run.sql"), [runId], requestRow);
      return new Set(rows.map((row) => row.request_id));
    },
    capabilities: async () => {
      const rows = await database.query(sqlText("warehouse/capabilities.sql"), [], capabilityRow);
      return new Map(rows.map(({ name, value }) => [name, value]));
    },
    missing: ({ sampleSize = 20, ...scope }) => walks.findMissing(database, scope, sampleSize),
    seenCount: (walkId) => walks.countSeen(database, walkId),
    countRows: (table, company) => walks.countRows(database, table, company),
    publish: () => journal.inTurn(() => publishSnapshot(database, snapshot, () => performance.now())),
    close: async () => {
      await journal.close();
      await database.close();
      await lock.release();
    },
  };
};
