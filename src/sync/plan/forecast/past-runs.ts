// Estimates from earlier syncs how much follow-up work the changes of the next sync will bring. Pure, except for `readPastRuns`, which
// reads them from the mirror.
import { z } from "zod";
import { STREAM_NAMES, type StreamName, streamSpec } from "../../../catalog/streams.ts";
import type { Database } from "../../../warehouse/duckdb/database.ts";
import { sqlText } from "../../../warehouse/duckdb/sql-files.ts";
import { type MirrorView, stateKey } from "../candidate.ts";
import { HISTORY_SCOPE } from "../usage-scopes.ts";

const DAY_MS = 86_400_000;
/** Finished syncs that rates are taken from. */
const LEARN_FROM = 20;
/** A rate per day is taken from this time at least: what two syncs within a minute find says little about a day. */
const LEAST_DAYS = 1 / 24;

export interface PastRun {
  /** Some lists were of unknown length, so the forecast was none. */
  readonly atLeast: boolean;
  /** Days since the previous read of a list, by stream; absent: it was not read before. */
  readonly days: ReadonlyMap<string, number>;
  /** Credits of the work that was foreseen at the start and does not come from changes, by stream. */
  readonly due: ReadonlyMap<string, number>;
  readonly spent: ReadonlyMap<string, number>;
  /** Rows inserted or updated, by stream. */
  readonly changed: ReadonlyMap<string, number>;
}

export interface Rates {
  /** Credits a day beyond the work that was due: changes, and what follows from them. */
  readonly followUpsPerDay: ReadonlyMap<StreamName, number>;
  /** Rows a day that come or change. */
  readonly changesPerDay: ReadonlyMap<StreamName, number>;
}

export const NO_RATES: Rates = { followUpsPerDay: new Map(), changesPerDay: new Map() };

/** The list whose changes cause work of a stream: signals announce new filings, changed accounts new insights. */
const causeOf = (stream: StreamName): StreamName | null => {
  const { scope, strategy, hints } = streamSpec(stream);
  if (strategy === "capture") return null;
  if (hints.length > 0) return "signals";
  return scope === "organization" ? stream : "accounts";
};

/** Days since each organization list was last read; lists that were never read are absent. */
export const daysSinceRead = ({ states, now }: Pick<MirrorView, "states" | "now">): ReadonlyMap<StreamName, number> => {
  const lists = STREAM_NAMES.filter((name) => streamSpec(name).scope === "organization" && streamSpec(name).list);
  const read = lists.flatMap((stream) => {
    const scope = streamSpec(stream).strategy === "log" ? HISTORY_SCOPE : "";
    const at = states.get(stateKey(stream, scope))?.checkedAt ?? null;
    return at === null ? [] : [[stream, (now - at) / DAY_MS] as const];
  });
  return new Map(read);
};

export const ratesOf = (runs: readonly PastRun[], streams: readonly StreamName[]): Rates => {
  const followUps = new Map<StreamName, number>();
  const changes = new Map<StreamName, number>();
  for (const stream of streams) {
    const cause = causeOf(stream);
    if (cause === null) continue;
    const usable = runs.filter(({ atLeast, days }) => !atLeast && days.has(cause));
    const days = usable.reduce((sum, run) => sum + (run.days.get(cause) ?? 0), 0);
    if (usable.length === 0) continue;
    const observed = Math.max(LEAST_DAYS, days);
    const more = usable.reduce((sum, { spent, due }) => sum + (spent.get(stream) ?? 0) - (due.get(stream) ?? 0), 0);
    followUps.set(stream, Math.max(0, more / observed));
    changes.set(stream, usable.reduce((sum, { changed }) => sum + (changed.get(stream) ?? 0), 0) / observed);
  }
  return { followUpsPerDay: followUps, changesPerDay: changes };
};

/** Credits of a stream that are likely to come up beyond its due work in a sync now. */
export const expectedFollowUps = (rates: Rates, stream: StreamName, days: ReadonlyMap<StreamName, number>): number => {
  const cause = causeOf(stream);
  return cause === null ? 0 : (rates.followUpsPerDay.get(stream) ?? 0) * (days.get(cause) ?? 0);
};

const storedForecast = z.object({
  atLeast: z.boolean(),
  days: z.record(z.string(), z.number()),
  streams: z.array(z.object({ stream: z.string(), due: z.number(), once: z.number() })),
});
const storedReport = z.object({
  streams: z.array(z.object({ stream: z.string(), credits: z.number(), inserted: z.number(), updated: z.number() })),
});
const runRow = z.object({ forecast: z.string(), summary: z.string() });

/** The latest finished syncs, newest first. */
export const readPastRuns = async (database: Database): Promise<readonly PastRun[]> => {
  const rows = await database.query(sqlText("plan/past-runs.sql"), [LEARN_FROM], runRow);
  return rows.flatMap((row): readonly PastRun[] => {
    const forecast = storedForecast.safeParse(JSON.parse(row.forecast));
    const report = storedReport.safeParse(JSON.parse(row.summary));
    if (!forecast.success || !report.success) return [];
    const { streams } = report.data;
    return [
      {
        atLeast: forecast.data.atLeast,
        days: new Map(Object.entries(forecast.data.days)),
        due: new Map(forecast.data.streams.map(({ stream, due, once }) => [stream, due + once])),
        spent: new Map(streams.map(({ stream, credits }) => [stream, credits])),
        changed: new Map(streams.map(({ stream, inserted, updated }) => [stream, inserted + updated])),
      },
    ];
  });
};
