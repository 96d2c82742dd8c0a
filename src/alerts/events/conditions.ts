// States of the program that a rule can wait for, read from the published snapshot and the syncs since that found nothing
// new: the last run failed, data older than its limit, credits that will not last until the reset.
import { z } from "zod";
import type { AlertEventKind, AlertSettings } from "../../core/config/alerts/alert-settings.ts";
import { isoTime } from "../../core/time.ts";
import { type Database, openDatabase } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { type Look, looksSince } from "../../warehouse/read/looks.ts";
import { assertOwnCatalog } from "../../warehouse/user-sql/own-snapshot.ts";
import { assertReadable } from "../../warehouse/user-sql/readable.ts";
import { type AlertEvent, eventId } from "../message.ts";
import type { Position } from "../store/rule-store.ts";

// Events of states: one when a state begins, one when it is over, none while it lasts. Pure.

/** Something that is true now. One key is one state. */
interface Condition {
  readonly key: string;
  readonly row: Readonly<Record<string, unknown>>;
}

/** Types of the events that begin and end a state. */
const TYPES: Readonly<Record<Exclude<AlertEventKind, "changes">, readonly [begins: string, ends: string]>> = {
  run_failed: ["run.failed", "run.recovered"],
  data_old: ["data.old", "data.fresh"],
  credits_short: ["credits.short", "credits.enough"],
};

export const stateEvents = (
  active: Position["active"],
  conditions: readonly Condition[],
  of: {
    readonly event: Exclude<AlertEventKind, "changes">;
    readonly mirror: string;
    readonly rule: string;
    readonly now: number;
  },
): { readonly events: readonly AlertEvent[]; readonly active: Position["active"] } => {
  const { event, mirror, rule, now } = of;
  const [begins, ends] = TYPES[event];
  const at = new Date(now).toISOString();
  const isTrue = new Set(conditions.map(({ key }) => key));
  const over = Object.entries(active).filter(([key]) => !isTrue.has(key));
  const fresh = conditions.filter(({ key }) => !Object.hasOwn(active, key));
  const id = (type: string, key: string, since: string) => eventId(mirror, rule, type, key, since);
  const events = [
    ...over.map(([key, { since }]) => ({ id: id(ends, key, since), type: ends, at, key, row: { key, since } })),
    ...fresh.map(({ key, row }) => ({ id: id(begins, key, at), type: begins, at, key, row: { ...row } })),
  ];
  const still = Object.entries(active).filter(([key]) => isTrue.has(key));
  return { events, active: Object.fromEntries([...still, ...fresh.map(({ key }) => [key, { since: at }] as const)]) };
};

const DAY_MS = 86_400_000;

type StateRule = Pick<AlertSettings, "event" | "afterMs">;

const runRow = z.object({
  run_id: z.string(),
  status: z.string(),
  error: z.string().nullable(),
  started_at: z.number(),
});
const dueRow = z.object({ table_name: z.string(), stream: z.string(), due_at: z.number() });
const creditsRow = z.object({
  remaining: z.number(),
  forecast_remaining: z.number(),
  empty_on: z.string().nullable(),
  resets_at: z.number().nullable(),
  captured_at: z.number(),
  spent_per_day: z.number(),
});
type Forecast = z.output<typeof creditsRow>;

/** A sync that the budget stopped, or a person, did not fail. */
const FAILURES = ["failed", "partial"];

const failedRun = async (database: Database, looks: readonly Look[]): Promise<readonly Condition[]> => {
  const [stored] = await database.query(sqlText("alerts/last-run.sql"), [], runRow);
  const last = looks.at(-1)?.run ?? stored;
  if (last === undefined || !FAILURES.includes(last.status)) return [];
  const { run_id, status, error, started_at } = last;
  return [{ key: "runs", row: { run_id, status, error, started_at: isoTime(started_at) } }];
};

const oldData = async (
  database: Database,
  looks: readonly Look[],
  limitMs: number,
  now: number,
): Promise<readonly Condition[]> => {
  const looked = new Map(looks.at(-1)?.tables.map((table) => [table.table_name, table.due_at]));
  const streams = new Map<string, number>();
  for (const { table_name: table, stream, due_at } of await database.query(sqlText("alerts/due.sql"), [], dueRow)) {
    const dueAt = looked.get(table) ?? due_at;
    streams.set(stream, Math.min(dueAt, streams.get(stream) ?? dueAt));
  }
  return [...streams]
    .filter(([, dueAt]) => dueAt + limitMs < now)
    .map(([stream, dueAt]) => ({ key: stream, row: { stream, due_at: isoTime(dueAt) } }));
};

/** The forecast from the figures of a later sync that published nothing, at the pace that the snapshot knows. */
const withLooks = (forecast: Forecast, looks: readonly Look[]): Forecast => {
  const figures = looks.findLast(({ credits }) => credits !== null)?.credits;
  if (figures === undefined || figures === null || figures.captured_at <= forecast.captured_at) return forecast;
  const { remaining, resets_at, captured_at } = figures;
  const { spent_per_day } = forecast;
  const days = resets_at === null ? 0 : Math.max(0, resets_at - captured_at) / DAY_MS;
  const forecast_remaining = Math.round(remaining - spent_per_day * days);
  const daysLeft = Math.max(0, Math.floor(remaining / spent_per_day));
  const empty_on = forecast_remaining < 0 ? isoTime(captured_at + daysLeft * DAY_MS).slice(0, 10) : null;
  return { ...forecast, remaining, resets_at, forecast_remaining, empty_on };
};

const shortCredits = async (database: Database, looks: readonly Look[], now: number): Promise<readonly Condition[]> => {
  const [stored] = await database.query(sqlText("alerts/credits.sql"), [], creditsRow);
  const found = stored === undefined ? undefined : withLooks(stored, looks);
  // After the reset, the figures are those of the period before.
  if (found === undefined || found.resets_at === null || found.resets_at <= now) return [];
  if (found.forecast_remaining >= 0) return [];
  const { remaining, empty_on } = found;
  const resets_at = isoTime(found.resets_at);
  return [{ key: "credits", row: { remaining, missing: -found.forecast_remaining, empty_on, resets_at } }];
};

/** What is true now. Throws SNAPSHOT_MISSING and the errors of reading it. */
export const readConditions = async (
  { event, afterMs }: StateRule,
  snapshot: string,
  now: number,
): Promise<readonly Condition[]> => {
  assertReadable(snapshot);
  await assertOwnCatalog(snapshot);
  const looks = looksSince(snapshot);
  const database = await openDatabase(snapshot, { readOnly: true, lockedDown: true, threads: 1 });
  try {
    if (event === "run_failed") return await failedRun(database, looks);
    if (event === "data_old") return await oldData(database, looks, afterMs, now);
    return await shortCredits(database, looks, now);
  } finally {
    await database.close();
  }
};
