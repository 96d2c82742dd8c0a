// Reads the mirror's state from the published snapshot and the looks beside it: rows, freshness, credits, runs. Needs
// no network and no lock.
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { readError } from "../duckdb/duck-errors.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { rowOf } from "../duckdb/statements.ts";
import { assertReadable } from "../user-sql/own-snapshot.ts";
import { readCheckResults } from "./check-results.ts";
import { type Look, looksSince, readPublishedAt } from "./looks.ts";
import { onSnapshot } from "./query.ts";
import { readCredits } from "./read-credits.ts";
import { readRuns } from "./read-run.ts";

const count = z.number();
/** ms since the epoch. */
const instant = z.number().nullable();

const tableRow = rowOf({ table: z.string(), rows: count, lastChangeAt: instant });

const streamRow = rowOf({
  stream: z.string(),
  scopes: count,
  walking: count,
  failed: count,
  neverChecked: count,
  lastCheckAt: instant,
  /** Last check of the scope that was checked longest ago. */
  oldestCheckAt: instant,
  oldestWalkAt: instant,
  /** When the part that is furthest behind becomes older than its maximum age. */
  dueAt: instant,
  /** Total of the service's latest counts of its lists. */
  totalCount: count.nullable(),
  error: z.string().nullable(),
  complete: z.boolean(),
  /** Number of rows that could not be confirmed, null where unknown, and the reason. */
  unconfirmed: count.nullable(),
  because: z.string().nullable(),
});

const forecastRow = rowOf({
  runId: z.string(),
  startedAt: count,
  /** Credits that the sync was expected to spend within its allowance. */
  credits: count,
  spent: count,
  /** The length of a list was not known. */
  atLeast: z.boolean(),
  /** Forecast minus spent credits, in percent of the spent ones; null: they do not compare. */
  errorPercent: z.number().nullable(),
});

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

const tierRow = z.object({ tier: z.enum(["full", "public"]), since: z.string(), evidence: z.string() });

/** Forecasts whose errors are shown. */
const LATEST_FORECASTS = 10;

const blocksRow = z.object({ total_blocks: count, free_blocks: count });

const emptyRow = z.object({ forecast_empty_on: z.string().nullable() });

const findingsRow = z.object({ rejects: count, drifts: count });

/** Times are ms since the epoch. Throws SNAPSHOT_MISSING, QUERY_FAILED. */
export const readStatus = async (snapshot: string, options: { readonly runs: number }) => {
  assertReadable(snapshot);
  // In whole ms, as deliveries note them: a fraction would make a destination look behind.
  const file = statSync(snapshot, { bigint: true });
  const looks = looksSince(snapshot);
  const last = looks.at(-1);
  return onSnapshot(snapshot, async (database) => {
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
      runs: await readRuns(database, looks, null, options.runs),
      forecasts: await read("forecasts", forecastRow, [LATEST_FORECASTS]),
      /** Results of the user's checks, the worst first: of a sync since that they kept from the snapshot, else its own. */
      checks: last?.checks.length ? last.checks : await readCheckResults(database),
      rejects: findings?.rejects ?? 0,
      schemaDrifts: findings?.drifts ?? 0,
    };
  }).catch((cause: unknown) => {
    throw readError(cause, snapshot);
  });
};

export type MirrorStatus = Awaited<ReturnType<typeof readStatus>>;
