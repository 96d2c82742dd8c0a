// Reads one run from the published snapshot: its status and its report. Needs no network and no lock.
import { statSync } from "node:fs";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { type SyncReport, syncReportSchema } from "../../core/sync-report.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { assertReadable } from "./readable.ts";

export interface StoredRun {
  /** As in `sync.runs`: `running` until it ends. */
  readonly status: string;
  /** ms since the epoch. */
  readonly startedAt: number;
  /** null until it ends, and if a fault ended it. */
  readonly report: SyncReport | null;
  /** Code or text of the error that ended it early. */
  readonly error: string | null;
}

const runRow = z
  .object({ status: z.string(), started_at: z.number(), summary: z.unknown(), error: z.string().nullable() })
  .transform((row): StoredRun => {
    const summary: unknown = typeof row.summary === "string" ? JSON.parse(row.summary) : row.summary;
    const report = syncReportSchema.safeParse(summary);
    return { status: row.status, startedAt: row.started_at, report: report.data ?? null, error: row.error };
  });

const spendingRow = z.object({ run_id: z.string(), stream: z.string(), requests: z.number(), spent: z.number() });
/** Requests and credits of one run for one stream. */
export type RunSpending = z.output<typeof spendingRow>;

/** Result of `work` on the snapshot; null when there is no snapshot. Throws QUERY_FAILED. */
const reading = async <T>(snapshot: string, work: (database: Database) => Promise<T>): Promise<T | null> => {
  if (!statSync(snapshot, { throwIfNoEntry: false })?.isFile()) return null;
  assertReadable(snapshot);
  try {
    const database = await openDatabase(snapshot, { readOnly: true, lockedDown: true });
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  } catch (cause) {
    if (cause instanceof DuckmirrorError) throw cause;
    throw new DuckmirrorError("QUERY_FAILED", { detail: detailOf(cause) }, { cause });
  }
};

/** The run; null when the snapshot does not contain it or does not exist. Throws QUERY_FAILED. */
export const readRun = (snapshot: string, runId: string): Promise<StoredRun | null> =>
  reading(snapshot, async (database) => {
    const [run] = await database.query(sqlText("status/run.sql"), [runId], runRow);
    return run ?? null;
  });

/**
 * Requests and credits of all runs of a sync, including runs that were killed before their report. Throws
 * QUERY_FAILED.
 */
export const readSpending = async (snapshot: string, syncId: string): Promise<readonly RunSpending[]> =>
  (await reading(snapshot, (database) =>
    database.query(sqlText("status/requests-of-sync.sql"), [syncId], spendingRow),
  )) ?? [];
