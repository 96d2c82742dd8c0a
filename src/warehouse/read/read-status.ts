// Reads the mirror's state from the published snapshot and the looks beside it: rows, freshness, credits, runs. Needs
// no network and no lock.
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { readError } from "../duckdb/duck-errors.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { assertReadable } from "../user-sql/trusted-files.ts";
import { inCatalogOrder, readFreshness, streamsOf } from "./freshness.ts";
import { checksNow, looksSince, readPublishedAt } from "./looks.ts";
import { onSnapshot } from "./query.ts";
import { readCredits } from "./read-credits.ts";
import { readRuns } from "./read-run.ts";

const count = z.number();

const forecastRow = z.object({
  run_id: z.string(),
  started_at: count,
  /** Credits that the sync was expected to spend within its allowance. */
  credits: count,
  spent: count,
  /** The length of a list was not known. */
  at_least: z.boolean(),
  /** Forecast minus spent credits, in percent of the spent ones; null: they do not compare. */
  error_percent: z.number().nullable(),
});

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
    const tables = await readFreshness(database, looks);
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
      tables: inCatalogOrder(tables),
      streams: streamsOf(tables),
      spending: await readCredits(database, dirname(snapshot), last?.credits ?? null),
      /** Day on which the credits end at the present pace; null: they last, or nothing is known. */
      creditsEmptyOn: empty?.forecast_empty_on ?? null,
      runs: await readRuns(database, looks, null, options.runs),
      forecasts: await read("forecasts", forecastRow, [LATEST_FORECASTS]),
      /** Results of the user's checks, the worst first: of a sync since that they kept from the snapshot, else its own. */
      checks: await checksNow(database, looks),
      rejects: findings?.rejects ?? 0,
      schemaDrifts: findings?.drifts ?? 0,
    };
  }).catch((cause: unknown) => {
    throw readError(cause, snapshot);
  });
};

export type MirrorStatus = Awaited<ReturnType<typeof readStatus>>;
