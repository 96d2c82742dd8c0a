// Computes the figures of the page's overview from one snapshot, once per version of it. Times are ms since the epoch.
import { z } from "zod";
import { type Verdict, verdictOf } from "../../core/report/verdict.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { type CheckResult, withoutSample } from "../../warehouse/read/check-results.ts";
import { judgedOf, readFreshness, streamsOf } from "../../warehouse/read/freshness.ts";
import { checksNow, readPublishedAt } from "../../warehouse/read/looks.ts";
import { readRuns } from "../../warehouse/read/read-run.ts";
import { perSnapshot, type Snapshot } from "../snapshots/snapshot.ts";

// Findings to check: records that could not become rows, and differences between the service and its document.

const rejectRow = z.object({
  rejected_at: z.number(),
  run_id: z.string(),
  stream: z.string(),
  table_name: z.string(),
  position: z.number(),
  reason: z.string(),
  record: z.string(),
});

const driftRow = z.object({
  table_name: z.string(),
  field: z.string(),
  kind: z.string(),
  detail: z.string(),
  occurrences: z.number(),
  first_seen_at: z.number(),
  last_seen_at: z.number(),
});

export const readFindings = perSnapshot(async (snapshot) => ({
  rejects: await snapshot.query(sqlText("server/rejects.sql"), [], rejectRow),
  drift: await snapshot.query(sqlText("server/drift.sql"), [], driftRow),
}));

const count = z.number();
const ms = z.number().nullable();
const word = z.string().nullable();

const burnRow = z.object({
  day: z.string(),
  requests: count,
  spent_here: count,
  ambiguous_here: count,
  org_spent: count.nullable(),
  remaining: count.nullable(),
  credit_limit: count.nullable(),
  resets_at: ms,
  captured_at: ms,
  spent_per_day: count.nullable(),
  days_to_reset: count.nullable(),
  forecast_spend: count.nullable(),
  forecast_remaining: count.nullable(),
  forecast_empty_on: word,
});

const readingRow = z.object({ captured_at: count, remaining: count });
const rateRow = z.object({ minute: count, requests: count, refused: count });
const growthRow = z.object({ table_name: z.string(), moment: count, row_count: count });
const spanRow = z.object({ first_at: ms, last_at: ms, runs: count });
const findingsRow = z.object({ rejects: count, drifts: count });

/** Runs on one page of the timeline. */
export const RUNS_SHOWN = 200;
/** A younger mirror shows its growth by the hour. */
const HOURLY_MS = 4 * 86_400_000;
const HOUR_MS = 3_600_000;

const read = <T>(snapshot: Snapshot, name: string, row: z.ZodType<T>, params: Parameters<Snapshot["query"]>[1] = []) =>
  snapshot.query(sqlText(`${name}.sql`), params, row);

/** Rows and worst-case age of every table. */
export const tablesOf = perSnapshot((snapshot) => readFreshness(snapshot, snapshot.looks));

/** Spending by day, newest first, with the forecast to the reset. */
const readBurn = perSnapshot(async (snapshot) => {
  const days = await read(snapshot, "server/credit-burn", burnRow);
  const looked = snapshot.looks.at(-1)?.credits ?? null;
  const latest = days.find((day) => day.captured_at !== null);
  if (looked === null || latest === undefined) return days;
  const { credit_limit, remaining, resets_at, captured_at } = looked;
  return days.map((day) => (day === latest ? { ...day, credit_limit, remaining, resets_at, captured_at } : day));
});

/** The service's last reading of the credits; null: none yet. */
export const readReading = perSnapshot(
  async (snapshot) => (await readBurn(snapshot)).find((day) => day.captured_at !== null) ?? null,
);

const readSpan = perSnapshot(async (snapshot) => {
  const [span = { first_at: null, last_at: null, runs: 0 }] = await read(snapshot, "server/span", spanRow);
  const { looks } = snapshot;
  return { ...span, last_at: looks.at(-1)?.run.finished_at ?? span.last_at, runs: span.runs + looks.length };
});

/** When it was published, ms since the epoch. */
export const publishedAt = perSnapshot(async (snapshot) => (await readPublishedAt(snapshot)) ?? snapshot.modifiedAt);

/** End of the last run, else the time of publishing: ms since the epoch. */
export const lastRunAt = async (snapshot: Snapshot): Promise<number> =>
  (await readSpan(snapshot)).last_at ?? publishedAt(snapshot);

/** Number of rejected records, and number of kinds of differences from the API document. */
export const readFindingCounts = perSnapshot(async (snapshot) => {
  const [found] = await read(snapshot, "status/findings", findingsRow);
  return found ?? { rejects: 0, drifts: 0 };
});

/** Results of the user's checks without their rows, the worst first: of a sync that they kept from the snapshot, else its own. */
export const readChecks = perSnapshot(async (snapshot): Promise<readonly CheckResult[]> => {
  return (await checksNow(snapshot, snapshot.looks)).map(withoutSample);
});

const firstRuns = perSnapshot((snapshot) => readRuns(snapshot, snapshot.looks, null, RUNS_SHOWN));

/** Rows over time; separate, because it is the only figure that reads every row. */
export const readRowsOverTime = perSnapshot(async (snapshot) => {
  const { first_at, last_at } = await readSpan(snapshot);
  const hourly = first_at !== null && last_at !== null && last_at - first_at < HOURLY_MS;
  return read(snapshot, "server/rows-over-time", growthRow, [hourly ? HOUR_MS : 24 * HOUR_MS]);
});

/** The verdict that `status` gives, too. Times are ms since the epoch. */
export const readVerdict = async (snapshot: Snapshot, now: number, nextSyncAt: number | null): Promise<Verdict> => {
  const latest = await readReading(snapshot);
  const [lastRun = null] = await readRuns(snapshot, snapshot.looks, null, 1);
  return verdictOf({
    streams: streamsOf(await tablesOf(snapshot))
      .filter((stream) => stream.max_age_hours !== null || stream.oldest_checked_at !== null)
      .map(judgedOf),
    credits:
      latest === null || latest.remaining === null
        ? null
        : { remaining: latest.remaining, resetsAt: latest.resets_at, emptyOn: latest.forecast_empty_on },
    lastRun,
    nextSyncAt,
    now,
  });
};

/** All figures that the page shows at once. */
export const readOverview = perSnapshot(async (snapshot) => {
  // One after another, because each query uses every core, and readers look at the first ones first.
  const tables = await tablesOf(snapshot);
  const burn = await readBurn(snapshot);
  const readings = await read(snapshot, "server/quota-readings", readingRow);
  const runs = await firstRuns(snapshot);
  const rate = await read(snapshot, "server/rate-used", rateRow);
  const findings = await readFindingCounts(snapshot);
  const checks = await readChecks(snapshot);
  const span = await readSpan(snapshot);
  return {
    snapshot: { version: snapshot.version, bytes: snapshot.bytes, published_at: await publishedAt(snapshot) },
    tables,
    credits: { burn, readings },
    rate,
    runs,
    run_count: span.runs,
    findings,
    checks,
  };
});
