// One run as the published snapshot knows it: its status and its report. Needs no network and no lock.
import { statSync } from "node:fs";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../core/errors.ts";
import { type SyncReport, syncReportSchema } from "../core/sync-report.ts";
import { openDatabase } from "./database.ts";
import { sqlText } from "./sql-files.ts";

export interface StoredRun {
  /** As in `sync.runs`: `running` until it ended. */
  readonly status: string;
  /** ms since the epoch. */
  readonly startedAt: number;
  /** null until it ended, and where it ended by a fault. */
  readonly report: SyncReport | null;
  /** Code or text of what ended it early. */
  readonly error: string | null;
}

const runRow = z
  .object({ status: z.string(), started_at: z.number(), summary: z.unknown(), error: z.string().nullable() })
  .transform((row): StoredRun => {
    const summary: unknown = typeof row.summary === "string" ? JSON.parse(row.summary) : row.summary;
    const report = syncReportSchema.safeParse(summary);
    return { status: row.status, startedAt: row.started_at, report: report.data ?? null, error: row.error };
  });

/** Looks a run up; null when the snapshot does not know it, or there is none. Throws QUERY_FAILED. */
export const readRun = async (snapshot: string, runId: string): Promise<StoredRun | null> => {
  if (!statSync(snapshot, { throwIfNoEntry: false })?.isFile()) return null;
  try {
    const database = await openDatabase(snapshot, { readOnly: true, lockedDown: true });
    try {
      const [run] = await database.query(sqlText("status/run.sql"), [runId], runRow);
      return run ?? null;
    } finally {
      await database.close();
    }
  } catch (cause) {
    if (cause instanceof DuckmirrorError) throw cause;
    throw new DuckmirrorError("QUERY_FAILED", { detail: detailOf(cause) }, { cause });
  }
};
