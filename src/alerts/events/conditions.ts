// Finds the states that an alert rule can wait for, in the published snapshot and the looks since: a failed run, old or unconfirmed data,
// credits that will not last until the reset, differences from the API document, unusual numbers of changed rows, failed checks, late
// deliveries.
import { z } from "zod";
import type { AlertSettings, StateEventKind } from "../../core/config/alerts/alert-settings.ts";
import { literal } from "../../core/text/sql-text.ts";
import { isoTime } from "../../core/time.ts";
import type { Database } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { instant } from "../../warehouse/duckdb/statements.ts";
import { readFreshness, streamsOf } from "../../warehouse/read/freshness.ts";
import { checksNow, type Look, looksSince } from "../../warehouse/read/looks.ts";
import { onSnapshot } from "../../warehouse/read/query.ts";
import { type AlertEvent, eventId } from "../message.ts";
import type { Position } from "../store/rule-store.ts";

// Events of states: one when a state begins, one when it is over, none while it lasts. Pure.

/** Something that is true now. One key is one state. */
export interface Condition {
  readonly key: string;
  /** What is known of it; `sql`: the query on the snapshot that shows it. */
  readonly row: Readonly<Record<string, unknown>>;
}

/** Types of the events that begin and end a state. */
const TYPES: Readonly<Record<StateEventKind, readonly [begins: string, ends: string]>> = {
  run_failed: ["run.failed", "run.recovered"],
  data_old: ["data.old", "data.fresh"],
  credits_short: ["credits.short", "credits.enough"],
  schema_drift: ["drift.found", "drift.gone"],
  rows_unusual: ["rows.unusual", "rows.usual"],
  unconfirmed: ["data.unconfirmed", "data.confirmed"],
  check_failed: ["check.failed", "check.passed"],
  delivery_late: ["delivery.late", "delivery.caught_up"],
};

export const stateEvents = (
  active: Position["active"],
  conditions: readonly Condition[],
  of: {
    readonly event: StateEventKind;
    readonly mirror: string;
    readonly rule: string;
    readonly now: number;
  },
): { readonly events: readonly AlertEvent[]; readonly active: Position["active"] } => {
  const { event, mirror, rule, now } = of;
  const [begins, ends] = TYPES[event];
  const at = new Date(now).toISOString();
  const isTrue = new Set(conditions.map(({ key }) => key));
  const ended = Object.entries(active).filter(([key]) => !isTrue.has(key));
  const fresh = conditions.filter(({ key }) => !Object.hasOwn(active, key));
  const id = (type: string, key: string, since: string) => eventId(mirror, rule, type, key, since);
  const events = [
    ...ended.map(([key, { since }]) => ({ id: id(ends, key, since), type: ends, at, key, row: { key, since } })),
    ...fresh.map(({ key, row }) => ({ id: id(begins, key, at), type: begins, at, key, row: { ...row } })),
  ];
  const still = Object.entries(active).filter(([key]) => isTrue.has(key));
  return { events, active: Object.fromEntries([...still, ...fresh.map(({ key }) => [key, { since: at }] as const)]) };
};

const DAY_MS = 86_400_000;

interface StateRule extends Pick<AlertSettings, "afterMs"> {
  readonly event: StateEventKind;
}

export const runRow = z.object({
  run_id: z.string(),
  status: z.string(),
  error: z.string().nullable(),
  started_at: z.number(),
});
export const creditsRow = z.object({
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

/** The condition of a run that failed; none for another one. */
export const ofRun = ({ run_id, status, error, started_at }: z.output<typeof runRow>): readonly Condition[] => {
  if (!FAILURES.includes(status)) return [];
  const sql = `SELECT * FROM sync.runs WHERE run_id = ${literal(run_id)}`;
  return [{ key: "runs", row: { run_id, status, error, started_at: isoTime(started_at), sql } }];
};

const lastRun = async (database: Database, looks: readonly Look[]): Promise<z.output<typeof runRow> | null> => {
  const [stored = null] = await database.query(sqlText("alerts/last-run.sql"), [], runRow);
  return looks.at(-1)?.run ?? stored;
};

const failedRun = async (database: Database, looks: readonly Look[]): Promise<readonly Condition[]> => {
  const last = await lastRun(database, looks);
  return last === null ? [] : ofRun(last);
};

const tablesByName = async (database: Database, looks: readonly Look[]) =>
  (await readFreshness(database, looks)).toSorted((a, b) => (a.table_name < b.table_name ? -1 : 1));

const oldData = async (
  database: Database,
  looks: readonly Look[],
  limitMs: number,
  now: number,
): Promise<readonly Condition[]> => {
  const streams = new Map<string, number>();
  for (const { stream, due_at: dueAt } of await tablesByName(database, looks)) {
    if (dueAt !== null) streams.set(stream, Math.min(dueAt, streams.get(stream) ?? dueAt));
  }
  return [...streams]
    .filter(([, dueAt]) => dueAt + limitMs < now)
    .map(([stream, dueAt]) => ({ key: stream, row: { stream, due_at: isoTime(dueAt), sql: freshnessOf(stream) } }));
};

const freshnessOf = (stream: string): string => `SELECT * FROM marts.freshness WHERE stream = ${literal(stream)}`;

const unconfirmedData = async (database: Database, looks: readonly Look[]): Promise<readonly Condition[]> =>
  streamsOf(await tablesByName(database, looks))
    .filter((one) => !one.complete && one.last_checked_at !== null && one.unconfirmed_because !== null)
    .toSorted((a, b) => (a.stream < b.stream ? -1 : 1))
    .map(({ stream, unconfirmed, unconfirmed_because: reason }) => ({
      key: stream,
      row: { stream, unconfirmed, reason, sql: freshnessOf(stream) },
    }));

const driftRow = z.object({
  table_name: z.string(),
  field: z.string(),
  kind: z.string(),
  first_at: z.number(),
  occurrences: z.number(),
});

/** Differences that were first seen up to `now`. Their keys hold no values, which may be of a person. */
export const drifts = async (
  database: Database,
  now: number,
): Promise<readonly (Condition & { readonly at: number })[]> =>
  (await database.query(sqlText("alerts/drift.sql"), [instant(now)], driftRow)).map(({ first_at: at, ...found }) => {
    const { table_name, field, kind } = found;
    const sql = `SELECT * FROM sync.schema_drift WHERE table_name = ${literal(table_name)} AND field = ${literal(field)}`;
    return { key: [table_name, field, kind].join(":"), at, row: { ...found, sql } };
  });

const unusualRow = z.object({ table_name: z.string(), change: z.string(), rows: z.number(), busiest: z.number() });

/** Tables with an unusual number of changed rows in the 24 hours before `now`. */
export const unusualRows = async (database: Database, now: number): Promise<readonly Condition[]> =>
  (await database.query(sqlText("alerts/unusual-rows.sql"), [instant(now)], unusualRow)).map((found) => {
    const { table_name, change } = found;
    const of = `table_name = ${literal(table_name)} AND change = ${literal(change)}`;
    const sql = `SELECT "at", run_id, last_n - first_n + 1 AS "rows" FROM sync.change_batches WHERE ${of} ORDER BY "at" DESC`;
    return { key: `${table_name}:${change}`, row: { ...found, sql } };
  });

const failedChecks = async (database: Database, looks: readonly Look[]): Promise<readonly Condition[]> => {
  const keeps = (looks.at(-1)?.checks ?? []).length > 0;
  return (await checksNow(database, looks))
    .filter(({ status }) => status !== "passed")
    .map(({ check, severity, status, failing }) => {
      const sql = `SELECT * FROM sync.checks WHERE "check" = ${literal(check)}`;
      return { key: check, row: { check, severity, status, failing, keeps_snapshot: keeps, sql } };
    });
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
  return stored === undefined ? [] : ofForecast(withLooks(stored, looks), now);
};

/** The condition of credits that end before the reset. */
export const ofForecast = (found: Forecast, now: number): readonly Condition[] => {
  // After the reset, the figures are those of the period before.
  if (found.resets_at === null || found.resets_at <= now || found.forecast_remaining >= 0) return [];
  const { remaining, empty_on } = found;
  const resets_at = isoTime(found.resets_at);
  const sql = "SELECT * FROM marts.credit_burn ORDER BY day DESC LIMIT 30";
  return [{ key: "credits", row: { remaining, missing: -found.forecast_remaining, empty_on, resets_at, sql } }];
};

/** A destination, compared with the published snapshot. */
export interface DeliveryState {
  readonly name: string;
  readonly state: string;
  /** null: it holds nothing. */
  readonly behindMs: number | null;
}

const lateDeliveries = (deliveries: readonly DeliveryState[], limitMs: number): readonly Condition[] =>
  deliveries
    .filter(({ state, behindMs }) => state === "given up" || (behindMs !== null && behindMs > limitMs))
    .map(({ name, state, behindMs }) => {
      const behind_hours = behindMs === null ? null : Math.round(behindMs / 3_600_000);
      return { key: name, row: { destination: name, state, behind_hours } };
    });

/** `read` on the snapshot, for the statements of a rule. Throws SNAPSHOT_MISSING and the errors of reading it. */
export const inSnapshot = <T>(snapshot: string, read: (database: Database) => Promise<T>): Promise<T> =>
  onSnapshot(snapshot, read, { threads: 1 });

/** What is true now. Throws as `inSnapshot`. */
export const readConditions = async (
  { event, afterMs }: StateRule,
  snapshot: string,
  now: number,
  deliveries: readonly DeliveryState[] = [],
): Promise<readonly Condition[]> => {
  const looks = looksSince(snapshot);
  return inSnapshot(snapshot, async (database) => {
    switch (event) {
      case "run_failed":
        return failedRun(database, looks);
      case "data_old":
        return oldData(database, looks, afterMs, now);
      case "credits_short":
        return shortCredits(database, looks, now);
      case "schema_drift":
        return drifts(database, now);
      case "rows_unusual":
        return unusualRows(database, now);
      case "unconfirmed":
        return unconfirmedData(database, looks);
      case "check_failed":
        return failedChecks(database, looks);
      case "delivery_late":
        return lateDeliveries(deliveries, afterMs);
      default:
        return event satisfies never;
    }
  });
};

/** The last run that ended, for a heartbeat; null: none. */
export const lastEndedRun = (snapshot: string): Promise<z.output<typeof runRow> | null> => {
  const looks = looksSince(snapshot);
  return inSnapshot(snapshot, (database) => lastRun(database, looks));
};
