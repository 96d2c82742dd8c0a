// Reads one run from the published snapshot, its status and its report; and the ids that runs have.
import { statSync } from "node:fs";
import { z } from "zod";
import { type SyncReport, syncReportSchema } from "../../core/report/sync-report.ts";
import type { Database } from "../duckdb/database.ts";
import { readError } from "../duckdb/duck-errors.ts";
import { numberOf, sqlText, textsOf } from "../duckdb/sql-files.ts";
import { instant, type ReadSql } from "../duckdb/statements.ts";
import { type Look, looksSince } from "./looks.ts";
import { onSnapshot } from "./query.ts";

// When a file was begun. A replay fills a new one, whose rows may hold other values under the same times and runs: by new
// field rules, or by a program that reads a response another way.

/** ms since the epoch; null: not known. */
export const readBegunAt = (sql: ReadSql): Promise<number | null> => numberOf(sql, sqlText("warehouse/begun-at.sql"));

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

const count = z.number();
const pastRunRow = z.object({
  run_id: z.string(),
  mode: z.string(),
  status: z.string(),
  /** ms since the epoch. */
  started_at: count,
  finished_at: count.nullable(),
  error: z.string().nullable(),
  differences: count.nullable(),
  forecast_requests: count.nullable(),
  requests: count,
  credits: count,
  ambiguous: count,
  failed_requests: count,
});

/** Runs with their cost, the newest first: those of the looks and of the snapshot. `before`: started before it, ms since the epoch; null: all. */
export const readRuns = async (sql: ReadSql, looks: readonly Look[], before: number | null, limit: number) => {
  const looked = looks
    .map(({ run }) => pastRunRow.parse({ ...run, differences: null, ambiguous: 0 }))
    .filter(({ started_at }) => before === null || started_at < before)
    .reverse();
  const stored = await sql.query(sqlText("status/runs.sql"), [instant(before), limit], pastRunRow);
  return [...looked, ...stored].slice(0, limit);
};

const requestsRow = z.object({
  run_id: z.string(),
  stream: z.string(),
  requests: z.number(),
  spent: z.number(),
  ambiguous: z.number(),
  pages: z.number(),
  rows: z.number(),
});
const rowsRow = z.object({
  run_id: z.string(),
  stream: z.string(),
  inserted: z.number(),
  updated: z.number(),
  deleted: z.number(),
  rejected: z.number(),
});

/** Work of one run for one stream, as far as the mirror has it. */
export interface RunTrace extends z.output<typeof rowsRow> {
  readonly requests: number;
  readonly spent: number;
  readonly ambiguous: number;
  readonly pages: number;
  readonly unchanged: number;
}

/** Result of `work` on the snapshot; null when there is no snapshot. Throws QUERY_FAILED. */
const reading = async <T>(snapshot: string, work: (database: Database) => Promise<T>): Promise<T | null> => {
  if (!statSync(snapshot, { throwIfNoEntry: false })?.isFile()) return null;
  return onSnapshot(snapshot, work).catch((cause: unknown) => {
    throw readError(cause, snapshot);
  });
};

/** A run that found nothing new and so published no snapshot. */
const lookedRun = (snapshot: string, runId: string): StoredRun | null => {
  const runs = looksSince(snapshot).map(({ run }) => run);
  const found = runs.findLast(({ run_id: id }) => id === runId || id.startsWith(`${runId}-`));
  return found === undefined ? null : runRow.parse(found);
};

/** The run; null when the snapshot does not contain it or does not exist. Throws QUERY_FAILED. */
export const readRun = async (snapshot: string, runId: string): Promise<StoredRun | null> =>
  lookedRun(snapshot, runId) ??
  reading(snapshot, async (database) => {
    const [run] = await database.query(sqlText("status/run.sql"), [runId], runRow);
    return run ?? null;
  });

const changedRow = z.object({
  table_name: z.string(),
  change: z.enum(["insert", "update", "delete"]),
  rows: z.number(),
});

/** Rows that a run changed, by table and kind of change; none where the snapshot lacks the run. Throws QUERY_FAILED. */
export const changesOfRun = async (snapshot: string, runId: string) =>
  (await reading(snapshot, (database) => database.query(sqlText("server/run-changes.sql"), [runId], changedRow))) ?? [];

const traceOf = (
  requests: z.output<typeof requestsRow>,
  written: Omit<z.output<typeof rowsRow>, "run_id" | "stream">,
): RunTrace => {
  const { rows, ...asked } = requests;
  const unchanged = Math.max(0, rows - written.inserted - written.updated - written.rejected);
  return { ...asked, ...written, unchanged };
};

/**
 * Work of a sync's runs that left no report, because they were killed or a fault ended them; `reported`: ids of runs
 * with a report. Throws QUERY_FAILED.
 */
export const readTraces = async (
  snapshot: string,
  syncId: string,
  reported: ReadonlySet<string>,
): Promise<readonly RunTrace[]> => {
  const traces = await reading(snapshot, async (database) => {
    const all = await database.query(sqlText("status/requests-of-sync.sql"), [syncId], requestsRow);
    const asked = all.filter(({ run_id }) => !reported.has(run_id));
    if (asked.length === 0) return [];
    const wrote = await database.query(sqlText("status/rows-of-sync.sql"), [syncId], rowsRow);
    const written = wrote.filter(({ run_id }) => !reported.has(run_id));
    const keyOf = ({ run_id, stream }: { readonly run_id: string; readonly stream: string }) => `${run_id} ${stream}`;
    const keys = new Set([...asked, ...written].map(keyOf));
    return [...keys].map((key) => {
      const [run_id = "", stream = ""] = key.split(" ");
      const nothingAsked = { run_id, stream, requests: 0, spent: 0, ambiguous: 0, pages: 0, rows: 0 };
      const nothingWritten = { inserted: 0, updated: 0, deleted: 0, rejected: 0 };
      return traceOf(
        asked.find((row) => keyOf(row) === key) ?? nothingAsked,
        written.find((row) => keyOf(row) === key) ?? nothingWritten,
      );
    });
  });
  return traces ?? [];
};

// Run ids chosen by the caller of a sync. A run that continues after a crash needs a new one.

/** When the first of the runs `wanted`, `wanted-2`, `wanted-3` ... started, ms since the epoch; null: there is none. */
export const firstStartOf = (sql: ReadSql, wanted: string): Promise<number | null> =>
  numberOf(sql, sqlText("warehouse/first-start-of-runs.sql"), [wanted]);

/** Credits that the runs `wanted`, `wanted-2`, `wanted-3` ... may have cost. */
export const creditsOfRuns = async (sql: ReadSql, wanted: string): Promise<number> =>
  (await numberOf(sql, sqlText("warehouse/credits-named-after.sql"), [wanted])) ?? 0;

/** `wanted`, or `wanted-2`, `wanted-3` ... if earlier runs have those ids. */
export const unusedRunId = async (sql: ReadSql, wanted: string): Promise<string> => {
  const used = new Set(await textsOf(sql, sqlText("warehouse/runs-named-after.sql"), [wanted]));
  let id = wanted;
  for (let next = 2; used.has(id); next += 1) id = `${wanted}-${next}`;
  return id;
};
