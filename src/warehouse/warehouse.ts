// The warehouse as the rest of the program sees it: one writer, checkpoints, walks, runs, the published snapshot.
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isStreamName, type StreamName } from "../catalog/streams.ts";
import type { TableName } from "../catalog/tables.ts";
import type { Clock } from "../core/clock.ts";
import { DuckmirrorError, detailOf } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";
import type { Checkpoint, LoadCounts, ScopeState } from "./checkpoint.ts";
import { commitCheckpoint } from "./commit.ts";
import { type Database, openDatabase } from "./database.ts";
import { openError } from "./duck-errors.ts";
import { instant } from "./duck-values.ts";
import { jsonText } from "./json-text.ts";
import { migrate } from "./migrate.ts";
import { type Published, publishSnapshot, removeLeftovers } from "./publish.ts";
import { sqlText } from "./sql-files.ts";
import * as walks from "./walks.ts";
import { takeWriterLock } from "./writer-lock.ts";

export interface RunStart {
  readonly runId: string;
  readonly mode: string;
  /** ms since the epoch. */
  readonly startedAt: number;
  /** What planning announced. */
  readonly forecast?: JsonValue;
}

export interface RunEnd {
  readonly status: string;
  /** ms since the epoch. */
  readonly finishedAt: number;
  readonly summary: JsonValue;
  readonly error?: string | null;
}

export interface Warehouse {
  readonly database: Database;
  /** Path of the snapshot that readers open. */
  readonly snapshot: string;
  /** Directory of the archive. */
  readonly archiveDir: string;
  /** Records a run as `running`. */
  startRun(run: RunStart): Promise<void>;
  finishRun(runId: string, end: RunEnd): Promise<void>;
  /** One transaction; see commit.ts. Answers with the counts of each load, in order. */
  commit(checkpoint: Checkpoint): Promise<readonly LoadCounts[]>;
  scopeStates(stream?: StreamName): Promise<readonly ScopeState[]>;
  /** Committed requests of a run. */
  requestsOf(runId: string): Promise<ReadonlySet<string>>;
  /** What was learned about the service: name → JSON text. */
  capabilities(): Promise<ReadonlyMap<string, string>>;
  /** `value` is JSON text; `now` in ms since the epoch. */
  setCapability(name: string, value: string, now: number): Promise<void>;
  /** Mirrored rows in scope that the walk did not meet; `sampleSize` ids of them (default 20). */
  missing(scope: walks.WalkScope & { readonly sampleSize?: number }): Promise<walks.Missing>;
  /** Moves what the walk did not meet to history, forgets the walk, stores the state. Answers with the rows deleted. */
  deleteMissing(request: walks.DeleteMissing): Promise<number>;
  /** Moves rows that the service answers 404 for to history. Answers with the rows deleted. */
  deleteKeys(request: walks.DeleteKeys): Promise<number>;
  /** Distinct records that the walk has met. */
  seenCount(walkId: string): Promise<number>;
  forgetWalk(walkId: string): Promise<void>;
  countRows(table: TableName, company?: string): Promise<number>;
  /** Replaces the snapshot with the present state, atomically. */
  publish(): Promise<Published>;
  /** Closes the file and lets another writer in. */
  close(): Promise<void>;
}

export interface WarehouseOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  /** DuckDB size text, e.g. `2GB`. */
  readonly memoryLimit?: string;
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

/** Directories that only their owner may enter: the mirror holds people's addresses. */
const makeDirs = async (dataDir: string, dirs: readonly string[]): Promise<void> => {
  try {
    for (const dir of dirs) {
      const made = await mkdir(dir, { recursive: true, mode: 0o700 });
      if (made !== undefined || dir !== dataDir) await chmod(dir, 0o700);
    }
  } catch (error) {
    throw new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir: dataDir, detail: detailOf(error) }, { cause: error });
  }
};

const openWorking = async (file: string, dir: string, options: WarehouseOptions): Promise<Database> => {
  const database = await openDatabase(file, {
    tempDir: join(dir, "state", "tmp"),
    ...(options.memoryLimit === undefined ? {} : { memoryLimit: options.memoryLimit }),
  });
  try {
    await migrate(database, options.clock.now());
    await chmod(file, 0o600);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
};

/**
 * Opens the data directory for writing, creating and migrating what is missing.
 * Throws WRITER_BUSY, WAREHOUSE_NEWER, MIGRATION_CHANGED, WAREHOUSE_CORRUPT, DATA_DIR_UNWRITABLE or DISK_FULL.
 */
export const openWarehouse = async (options: WarehouseOptions): Promise<Warehouse> => {
  const { dataDir } = options;
  const state = join(dataDir, "state");
  const archiveDir = join(state, "archive");
  const snapshot = join(dataDir, "warehouse.duckdb");
  const working = join(state, "working.duckdb");
  const lockFile = join(state, "writer.lock");
  await makeDirs(dataDir, [dataDir, state, archiveDir]);
  const lock = await takeWriterLock(lockFile, dataDir).catch((error: unknown) => {
    throw openError(error, lockFile, dataDir);
  });
  let database: Database;
  try {
    await chmod(lockFile, 0o600);
    await removeLeftovers(snapshot);
    database = await openWorking(working, dataDir, options);
  } catch (error) {
    await lock.release();
    throw openError(error, working, dataDir);
  }

  return {
    database,
    snapshot,
    archiveDir,
    startRun: async ({ runId, mode, startedAt, forecast }) => {
      const forecastText = forecast === undefined ? null : jsonText(forecast).text;
      await database.run(sqlText("warehouse/start-run.sql"), [runId, mode, instant(startedAt), forecastText]);
    },
    finishRun: async (runId, { status, finishedAt, summary, error = null }) => {
      const end = [runId, status, instant(finishedAt), jsonText(summary).text, error];
      await database.run(sqlText("warehouse/finish-run.sql"), end);
    },
    commit: (checkpoint) => commitCheckpoint(database, checkpoint),
    scopeStates: (stream) => database.query(sqlText("warehouse/scope-states.sql"), [stream ?? null], stateRow),
    requestsOf: async (runId) => {
      const rows = await database.query(sqlText("warehouse/requests-of-run.sql"), [runId], requestRow);
      return new Set(rows.map((row) => row.request_id));
    },
    capabilities: async () => {
      const rows = await database.query(sqlText("warehouse/capabilities.sql"), [], capabilityRow);
      return new Map(rows.map(({ name, value }) => [name, value]));
    },
    setCapability: async (name, value, now) => {
      await database.run(sqlText("warehouse/set-capability.sql"), [name, value, instant(now)]);
    },
    missing: ({ sampleSize = 20, ...scope }) => walks.findMissing(database, scope, sampleSize),
    deleteMissing: (request) => walks.deleteMissing(database, request),
    deleteKeys: (request) => walks.deleteKeys(database, request),
    seenCount: (walkId) => walks.countSeen(database, walkId),
    forgetWalk: (walkId) => walks.forgetWalk(database, walkId),
    countRows: (table, company) => walks.countRows(database, table, company),
    publish: () => publishSnapshot(database, snapshot, () => performance.now()),
    close: async () => {
      await database.close();
      await lock.release();
    },
  };
};
