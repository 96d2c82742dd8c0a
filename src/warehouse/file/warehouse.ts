// `Warehouse`: the one interface through which the program writes the mirror: checkpoints, deletes, runs, publishing. It joins what the
// other folders of src/warehouse do; one process holds it at a time.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { TableName } from "../../catalog/tables.ts";
import type { Clock } from "../../core/clock.ts";
import { readForgotten, refuseUnfinished } from "../archive/forgotten-list.ts";
import { loadTrail } from "../audit/load-trail.ts";
import type { Database } from "../duckdb/database.ts";
import { openError } from "../duckdb/duck-errors.ts";
import { sqlText, textsOf } from "../duckdb/sql-files.ts";
import { type Journal, openJournal } from "../journal/journal.ts";
import { type Changes, journalledChanges } from "../load/changes.ts";
import {
  type AccountSearch,
  findMet,
  findSuspects,
  type RowsBetween,
  type RowsOfAccount,
  readRowsBetween,
  readRowsByAccount,
  type Suspect,
  type SuspectSearch,
} from "../load/suspects.ts";
import * as walks from "../load/walks.ts";
import { type MirrorReader, mirrorReader } from "../read/mirror-reader.ts";
import { EVOLVING, type TableStrictness } from "../record/normalize-record.ts";
import { type ArchiveLimits, type ArchivePruned, keepWithinLimits } from "./baseline/archive-limits.ts";
import { adoptSnapshot } from "./baseline/baseline.ts";
import { startPendingFeed } from "./feed-check.ts";
import { removeLeftovers } from "./publish/publish.ts";
import {
  type PublishedFile,
  type PublishPlace,
  type PublishPolicy,
  publishIfChanged,
  publishNow,
} from "./publish-if-changed.ts";
import { enterMirror, memoryOf, openWorking, type WarehouseOptions, warehousePaths } from "./working-file.ts";

export interface Warehouse extends Changes, MirrorReader {
  /** Path of the snapshot that readers open. */
  readonly snapshot: string;
  /** True if the working file is a new copy of the snapshot, because `state/` was gone. */
  readonly adopted: boolean;
  readonly archiveDir: string;
  readonly strictness: TableStrictness;
  requestsOf(runId: string): Promise<ReadonlySet<string>>;
  /** Mirrored rows in scope that the walk did not return, with a few of their ids. */
  missing(scope: walks.WalkScope): Promise<walks.Missing>;
  /** Rows that were probably deleted although no walk that adds up has confirmed it; the most probable first. */
  suspects(search: SuspectSearch): Promise<readonly Suspect[]>;
  /** A few rows that the walk returned, so the service must know them by id. */
  metRows(search: Omit<SuspectSearch, "walkBefore">): Promise<readonly string[]>;
  /** Ids, as text, of mirrored rows by account, those with the most rows first. */
  rowsByAccount(search: AccountSearch): Promise<readonly RowsOfAccount[]>;
  /** Ids, as text, of mirrored rows between two dates. */
  rowsBetween(search: RowsBetween): Promise<readonly string[]>;
  /** Distinct records that the walk returned. */
  seenCount(walkId: string): Promise<number>;
  /** Ids, as text, of a company's rows in a table that is kept per company. */
  idsOfCompany(table: TableName, company: string): Promise<readonly string[]>;
  /** Replaces the snapshot atomically with the present state. Throws CHECK_FAILED, INTERRUPTED. */
  publish(): Promise<PublishedFile>;
  /**
   * Publishes if the run found something new for a reader, or the snapshot is due by `policy`; else notes that the run
   * looked, and returns null. Throws CHECK_FAILED, INTERRUPTED.
   */
  publishNews(runId: string, policy: PublishPolicy): Promise<PublishedFile | null>;
  /**
   * Removes what the archive holds beyond its limits. Call it after a publish: where the baseline does not cover what
   * is removed, the snapshot becomes the new one.
   */
  pruneArchive(limits: ArchiveLimits): Promise<ArchivePruned>;
  close(): Promise<void>;
}

/** A longer WAL is moved into the file, because each start reads it again. */
const LONGEST_WAL_BYTES = 4 * 1024 * 1024;

const isShort = async (wal: string): Promise<boolean> =>
  ((await stat(wal).catch(() => null))?.size ?? 0) <= LONGEST_WAL_BYTES;

/** Opens the journal, and starts the change feed of a warehouse that is older than it. */
const openFed = async (
  database: Database,
  { archiveDir: dir, clock }: { readonly archiveDir: string; readonly clock: Clock },
): Promise<Journal> => {
  const journal = await openJournal({ dir, database, clock });
  try {
    await startPendingFeed(database, journal, clock.now());
    return journal;
  } catch (error) {
    await journal.close();
    throw error;
  }
};

/** Opens working file and journal. The lock must be held. */
const openFiles = async (options: WarehouseOptions) => {
  const { dataDir, clock } = options;
  const { archiveDir, snapshot, working } = warehousePaths(dataDir);
  refuseUnfinished(await readForgotten(archiveDir));
  await removeLeftovers(snapshot);
  const adopted = await adoptSnapshot(warehousePaths(dataDir), clock.now());
  const database = await openWorking(working, options);
  try {
    return { database, journal: await openFed(database, { archiveDir, clock }), adopted };
  } catch (error) {
    await database.close();
    throw error;
  }
};

/** Reads and changes what the file holds. Learned facts are read once until there is another: a sync asks for them a dozen times. */
const contentOf = (database: Database, journal: Journal, strictness: TableStrictness): MirrorReader & Changes => {
  const reader = mirrorReader(database);
  const changes = journalledChanges(database, journal, strictness);
  let facts: ReturnType<MirrorReader["capabilities"]> | null = null;
  return {
    ...reader,
    ...changes,
    capabilities: () => {
      facts ??= reader.capabilities();
      return facts;
    },
    // A reading that began before is not kept.
    setCapability: (name, value, now) =>
      changes.setCapability(name, value, now).finally(() => {
        facts = null;
      }),
  };
};

/**
 * Opens the data directory for writing, creating and migrating what is missing.
 * Throws WRITER_BUSY, WAREHOUSE_NEWER, WAREHOUSE_BEHIND, MIGRATION_CHANGED, WAREHOUSE_CORRUPT, FORGET_UNFINISHED,
 * FORGOTTEN_UNREADABLE, DATA_DIR_UNWRITABLE or DISK_FULL.
 */
export const openWarehouse = async (options: WarehouseOptions): Promise<Warehouse> => {
  const { dataDir, clock, auditRetentionDays = null, strictness = EVOLVING } = options;
  const { archiveDir, snapshot, working } = warehousePaths(dataDir);
  const lock = await enterMirror(options);
  const { database, journal, adopted } = await openFiles(options).catch(async (error: unknown) => {
    await lock.release();
    throw openError(error, working, dataDir);
  });

  /** After a sync without news, the WAL stays: moving it into the file writes a hundred times its size. */
  let keepsWal = false;
  const publishing = <T>(work: (place: PublishPlace) => Promise<T>): Promise<T> =>
    journal.inTurn(async () => {
      await loadTrail(database, dataDir, { retentionDays: auditRetentionDays, now: clock.now() });
      const means = { tempDir: join(dataDir, "state", "tmp"), memory: memoryOf(options) };
      const { keepSnapshots: keeping = null, checks, stop, home } = options;
      return work({ database, snapshot, means, keeping, checks, stop, home, now: () => clock.now() });
    });

  return {
    ...contentOf(database, journal, strictness),
    snapshot,
    adopted,
    archiveDir,
    strictness,
    requestsOf: async (runId) => new Set(await textsOf(database, sqlText("warehouse/requests-of-run.sql"), [runId])),
    missing: (scope) => walks.findMissing(database, scope),
    suspects: (search) => findSuspects(database, search),
    metRows: (search) => findMet(database, search),
    rowsByAccount: (search) => readRowsByAccount(database, search),
    rowsBetween: (search) => readRowsBetween(database, search),
    seenCount: (walkId) => walks.countSeen(database, walkId),
    idsOfCompany: (table, company) => walks.idsOfCompany(database, table, company),
    publish: () => publishing((place) => publishNow(place)),
    publishNews: async (runId, policy) => {
      const published = await publishing((place) => publishIfChanged(place, policy, runId));
      keepsWal = published === null;
      return published;
    },
    pruneArchive: (limits) =>
      journal.inTurn(() => {
        const openRuns = async () => new Set(await textsOf(database, sqlText("plan/crashed-runs.sql")));
        return keepWithinLimits({ archiveDir, snapshot, openRuns, now: clock.now() }, limits);
      }),
    close: async () => {
      await journal.close();
      const { home } = options;
      try {
        await database.close({ keepsWal: keepsWal && home === undefined && (await isShort(`${working}.wal`)) });
        await home?.keep(working);
      } finally {
        await lock.release();
      }
    },
  };
};
