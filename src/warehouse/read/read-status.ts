// Reads the mirror's state from the published snapshot and the looks beside it: rows, freshness, credits, runs. Needs
// no network and no lock.
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { openDatabase } from "../duckdb/database.ts";
import { readError } from "../duckdb/duck-errors.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { assertOwnCatalog } from "../user-sql/own-snapshot.ts";
import { assertReadable } from "../user-sql/readable.ts";
import { readCheckResults } from "./check-results.ts";
import { type Look, looksSince, readPublishedAt } from "./looks.ts";
import { readCredits } from "./read-credits.ts";

const count = z.number();
/** ms since the epoch. */
const instant = z.number().nullable();

const tableRow = z
  .object({ table_name: z.string(), row_count: count, last_change_at: instant })
  .transform((row) => ({ table: row.table_name, rows: row.row_count, lastChangeAt: row.last_change_at }));

const streamRow = z
  .object({
    stream: z.string(),
    scopes: count,
    walking: count,
    failed: count,
    never_checked: count,
    last_check_at: instant,
    oldest_check_at: instant,
    oldest_walk_at: instant,
    due_at: instant,
    total_count: count.nullable(),
    error: z.string().nullable(),
    complete: z.boolean(),
    unconfirmed: count.nullable(),
    unconfirmed_because: z.string().nullable(),
  })
  .transform((row) => ({
    stream: row.stream,
    scopes: row.scopes,
    walking: row.walking,
    failed: row.failed,
    neverChecked: row.never_checked,
    lastCheckAt: row.last_check_at,
    /** Last check of the scope that was checked longest ago. */
    oldestCheckAt: row.oldest_check_at,
    oldestWalkAt: row.oldest_walk_at,
    /** When the part that is furthest behind becomes older than its maximum age. */
    dueAt: row.due_at,
    /** Total of the service's latest counts of its lists. */
    totalCount: row.total_count,
    error: row.error,
    complete: row.complete,
    /** Number of rows that could not be confirmed, null where unknown, and the reason. */
    unconfirmed: row.unconfirmed,
    because: row.unconfirmed_because,
  }));

const runRow = z
  .object({
    run_id: z.string(),
    mode: z.string(),
    status: z.string(),
    started_at: count,
    finished_at: instant,
    error: z.string().nullable(),
    forecast_requests: count.nullable(),
    request_count: count,
    spent: count,
    ambiguous: count,
  })
  .transform((row) => ({
    runId: row.run_id,
    mode: row.mode,
    status: row.status,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    error: row.error,
    forecastRequests: row.forecast_requests,
    requests: row.request_count,
    credits: row.spent,
    ambiguous: row.ambiguous,
  }));

const forecastRow = z
  .object({
    run_id: z.string(),
    started_at: count,
    credits: count,
    spent: count,
    at_least: z.boolean(),
    error_percent: z.number().nullable(),
  })
  .transform((row) => ({
    runId: row.run_id,
    startedAt: row.started_at,
    /** Credits that the sync was expected to spend within its allowance. */
    credits: row.credits,
    spent: row.spent,
    /** The length of a list was not known. */
    atLeast: row.at_least,
    /** Forecast minus spent credits, in percent of the spent ones; null: they do not compare. */
    errorPercent: row.error_percent,
  }));

type Stream = z.output<typeof streamRow>;

/** Times of checks as the last look has them. */
const asLooked =
  (look: Look | undefined) =>
  (stream: Stream): Stream => {
    const seen = look?.streams.find((row) => row.stream === stream.stream);
    if (seen === undefined) return stream;
    return {
      ...stream,
      lastCheckAt: seen.last_check_at,
      oldestCheckAt: seen.oldest_check_at,
      oldestWalkAt: seen.oldest_walk_at,
    };
  };

const lookedRun = ({ run }: Look): z.output<typeof runRow> =>
  runRow.parse({ ...run, request_count: run.requests, spent: run.credits, ambiguous: 0 });

const tierRow = z.object({ tier: z.enum(["full", "public"]), since: z.string(), evidence: z.string() });

/** Forecasts whose errors are shown. */
const LATEST_FORECASTS = 10;

const blocksRow = z.object({ total_blocks: count, free_blocks: count });

const emptyRow = z.object({ forecast_empty_on: z.string().nullable() });

const findingsRow = z.object({ rejects: count, drifts: count });

/** Times are ms since the epoch. Throws SNAPSHOT_MISSING, QUERY_FAILED. */
export const readStatus = async (snapshot: string, options: { readonly runs: number }) => {
  assertReadable(snapshot);
  await assertOwnCatalog(snapshot);
  // In whole ms, as deliveries note them: a fraction would make a destination look behind.
  const file = statSync(snapshot, { bigint: true });
  const looks = looksSince(snapshot);
  const last = looks.at(-1);
  try {
    const database = await openDatabase(snapshot, { readOnly: true, lockedDown: true });
    try {
      const read = <T>(name: string, row: z.ZodType<T>, params: readonly number[] = []) =>
        database.query(sqlText(`status/${name}.sql`), params, row);
      const [findings] = await read("findings", findingsRow);
      const [tier] = await read("tier", tierRow);
      const [empty] = await read("empty-on", emptyRow);
      const [blocks] = await read("file-blocks", blocksRow);
      return {
        tier: tier ?? null,
        snapshot: {
          path: snapshot,
          bytes: Number(file.size),
          publishedAt: (await readPublishedAt(database)) ?? Number(file.mtimeMs),
          /** Share of the file's blocks that hold nothing. */
          freeShare: blocks === undefined ? 0 : blocks.free_blocks / Math.max(1, blocks.total_blocks),
        },
        tables: await read("tables", tableRow),
        streams: (await read("streams", streamRow)).map(asLooked(last)),
        spending: await readCredits(database, dirname(snapshot), last?.credits ?? null),
        /** Day on which the credits end at the present pace; null: they last, or nothing is known. */
        creditsEmptyOn: empty?.forecast_empty_on ?? null,
        runs: [...looks.map(lookedRun).reverse(), ...(await read("runs", runRow, [options.runs]))].slice(
          0,
          options.runs,
        ),
        forecasts: await read("forecasts", forecastRow, [LATEST_FORECASTS]),
        /** Results of the user's checks, the worst first: of a sync since that they kept from the snapshot, else its own. */
        checks: last?.checks.length ? last.checks : await readCheckResults(database),
        rejects: findings?.rejects ?? 0,
        schemaDrifts: findings?.drifts ?? 0,
      };
    } finally {
      await database.close();
    }
  } catch (cause) {
    throw readError(cause, snapshot);
  }
};

export type MirrorStatus = Awaited<ReturnType<typeof readStatus>>;
