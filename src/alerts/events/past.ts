// Back-test of an alert rule, for `alerts test --since`: the events that it would have sent in the past, from what the snapshot keeps
// (runs, changes, days of credits, differences by their first time).
import { z } from "zod";
import type { StateEventKind } from "../../core/config/alerts/alert-settings.ts";
import { literal } from "../../core/text/sql-text.ts";
import type { Database } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { instant } from "../../warehouse/duckdb/statements.ts";
import type { AlertEvent } from "../message.ts";
import type { Position } from "../store/rule-store.ts";
import {
  type Condition,
  creditsRow,
  drifts,
  inSnapshot,
  ofForecast,
  ofRun,
  runRow,
  stateEvents,
  unusualRows,
} from "./conditions.ts";

/** What was true at a moment, ms since the epoch. */
interface Moment {
  readonly at: number;
  readonly conditions: readonly Condition[];
}

/** Events whose past the snapshot keeps. */
export const KEPT_PAST = [
  "run_failed",
  "credits_short",
  "schema_drift",
  "rows_unusual",
  "unconfirmed",
  "check_failed",
] as const;
export type PastEventKind = (typeof KEPT_PAST)[number] & StateEventKind;

const DAY_MS = 86_400_000;

const endedRow = runRow.extend({ ended_at: z.number(), unconfirmed: z.array(z.string()).nullable() });
type EndedRun = z.output<typeof endedRow>;

const ofUnconfirmed = ({ run_id, unconfirmed }: EndedRun): readonly Condition[] =>
  (unconfirmed ?? []).map((stream) => {
    const sql = `SELECT summary FROM sync.runs WHERE run_id = ${literal(run_id)}`;
    return { key: stream, row: { stream, run_id, sql } };
  });

const ofChecks = (run: EndedRun): readonly Condition[] =>
  run.error === "CHECK_FAILED" || run.error === "CHECK_BROKEN"
    ? ofRun(run).map(({ row }) => ({ key: "checks", row }))
    : [];

const perRun = async (
  database: Database,
  since: number,
  conditionsOf: (run: EndedRun) => readonly Condition[],
): Promise<readonly Moment[]> =>
  (await database.query(sqlText("alerts/past-runs.sql"), [instant(since)], endedRow)).map((run) => ({
    at: run.ended_at,
    conditions: conditionsOf(run),
  }));

const perDay = async (
  since: number,
  now: number,
  conditionsAt: (at: number) => Promise<readonly Condition[]>,
): Promise<readonly Moment[]> => {
  const moments: Moment[] = [];
  for (let at = since; at <= now; at += DAY_MS) moments.push({ at, conditions: await conditionsAt(at) });
  return moments;
};

const momentsOf = async (
  event: PastEventKind,
  database: Database,
  since: number,
  now: number,
): Promise<readonly Moment[]> => {
  switch (event) {
    case "run_failed":
      return perRun(database, since, ofRun);
    case "unconfirmed":
      return perRun(database, since, ofUnconfirmed);
    case "check_failed":
      return perRun(database, since, ofChecks);
    case "credits_short": {
      const days = await database.query(sqlText("alerts/past-credits.sql"), [instant(since)], creditsRow);
      return days.map((day) => ({ at: day.captured_at, conditions: ofForecast(day, day.captured_at) }));
    }
    case "schema_drift": {
      const found = await drifts(database, now);
      const times = [...new Set(found.map(({ at }) => at).filter((at) => at >= since))].sort((a, b) => a - b);
      return [since, ...times].map((moment) => ({ at: moment, conditions: found.filter(({ at }) => at <= moment) }));
    }
    case "rows_unusual":
      return perDay(since, now, (at) => unusualRows(database, at));
    default:
      return event satisfies never;
  }
};

/** Events that a rule of this state would have sent since a moment. What was true at its first moment counts as begun then. */
export const pastStates = (
  snapshot: string,
  event: PastEventKind,
  { rule, since, now }: { readonly rule: string; readonly since: number; readonly now: number },
): Promise<readonly AlertEvent[]> =>
  inSnapshot(snapshot, async (database) => {
    const events: AlertEvent[] = [];
    let active: Position["active"] = {};
    for (const { at, conditions } of await momentsOf(event, database, since, now)) {
      const found = stateEvents(active, conditions, { event, mirror: "past", rule, now: at });
      events.push(...found.events);
      active = found.active;
    }
    return events;
  });
