// Finds the events of an alert rule on changes: runs the rule's query over the changes since its position. The query is the user's, so it
// runs in the fenced process with limits of memory and time (warehouse/user-sql), never in this one.
import { z } from "zod";
import { DuckmirrorError } from "../../core/errors.ts";
import type { OutValue } from "../../warehouse/duckdb/out-values.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { changeAt, readFeedBounds } from "../../warehouse/read/changes/read-changes.ts";
import { runUserQuery, type SqlSource } from "../../warehouse/user-sql/user-query.ts";
import { type AlertEvent, eventId } from "../message.ts";
import { inSnapshot } from "./conditions.ts";

/** Limits of a rule's query. */
const LIMITS = { memoryMiB: 1024, timeMs: 60_000 };
/** Most events read at once; the next reading takes up the rest. */
const MOST_EVENTS = 2_000;

export interface ChangesQuestion {
  /** Path of the published snapshot. */
  readonly snapshot: string;
  /** Id of the mirror's history: ids of events begin with it. */
  readonly mirror: string;
  readonly rule: { readonly name: string; readonly sql: string };
  /** Last change that was considered; null: begin with the next one. */
  readonly after: number | null;
  /** What the feed said of that change; null: not known. */
  readonly change: string | null;
  readonly now: number;
  readonly signal: AbortSignal;
  readonly sqlSource: SqlSource;
  /** Runs the query; unset: in a process of its own. Replaced in tests, because such a process takes a second. */
  readonly query?: RunQuery | undefined;
}

export type RunQuery = typeof runUserQuery;

export interface FoundEvents {
  readonly events: readonly AlertEvent[];
  /** Last change that was considered now. */
  readonly after: number;
  /** What the feed says of that change; null: it is not kept. */
  readonly change: string | null;
  /** The snapshot holds more. */
  readonly more: boolean;
}

const headRow = z.tuple([
  z.union([z.number(), z.bigint()]).transform(Number),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string().nullable(),
  z.string().nullable(),
]);
const HEADS = 7;

const plain = (value: OutValue): unknown => {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
};

/** A gap in the feed: changes that no longer exist, or another feed. The receiver is informed once. */
const gapEvent = ({ mirror, rule, after, now }: ChangesQuestion, last: number): AlertEvent => ({
  id: eventId(mirror, rule.name, "gap", after ?? 0, last),
  type: "feed.gap",
  at: new Date(now).toISOString(),
  key: "feed",
  row: { after, continues_after: last },
});

const queryOf = ({ rule }: ChangesQuestion, after: number, last: number): string =>
  sqlText("alerts/found-changes.sql")
    .replaceAll("{after}", String(after))
    .replaceAll("{last}", String(last))
    .replaceAll("{most}", String(MOST_EVENTS + 1))
    .replace("{query}", () => rule.sql.trim().replace(/;\s*$/, ""));

/** What the feed says of changes; null: the change is not kept. */
const feedOf = ({ snapshot, after }: ChangesQuestion) =>
  inSnapshot(snapshot, async (database) => {
    const bounds = await readFeedBounds(database);
    const atAfter = after === null ? null : await changeAt(database, after);
    return { ...bounds, atAfter, atLast: await changeAt(database, bounds.last) };
  });

const eventsOf = (
  { mirror, rule }: ChangesQuestion,
  columns: readonly { readonly name: string }[],
  rows: readonly (readonly OutValue[])[],
): readonly (AlertEvent & { readonly n: number })[] => {
  const nths = new Map<number, number>();
  return rows.map((row) => {
    const [n, at, table, change, ...keys] = headRow.parse(row.slice(0, HEADS));
    const nth = nths.get(n) ?? 0;
    nths.set(n, nth + 1);
    const cells = columns.slice(HEADS).flatMap(({ name }, index) => {
      return name === "n" ? [] : [[name, plain(row[HEADS + index] ?? null)] as const];
    });
    const key = [table, ...keys.filter((part) => part !== null)].join(":");
    const found = Object.fromEntries(cells);
    return { id: eventId(mirror, rule.name, n, nth), type: "change.found", at, key, n, table, change, row: found };
  });
};

/**
 * Throws QUERY_FAILED, QUERY_LIMIT, USER_SQL_OFF, USER_SQL_NO_BOX, SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, CATALOG_REFUSED, and the reason of `signal`.
 */
export const readChangeEvents = async (question: ChangesQuestion): Promise<FoundEvents> => {
  const { snapshot, after, change, signal, rule, sqlSource, query = runUserQuery } = question;
  const { last, goneTo, atAfter, atLast } = await feedOf(question);
  const end = { after: last, change: atLast, more: false };
  if (after === null) return { events: [], ...end };
  // A restored mirror goes on from an earlier number, and may have passed the position since.
  const isAnother = change !== null && atAfter !== null && change !== atAfter;
  if (after < goneTo || after > last || isAnother) return { events: [gapEvent(question, last)], ...end };
  if (after === last) return { events: [], ...end };
  const sql = queryOf(question, after, last);
  const { columns, rows } = await query({ snapshot, sql, signal }, LIMITS, sqlSource);
  const events = eventsOf(question, columns, rows);
  if (events.length <= MOST_EVENTS) return { events, ...end };
  // The last change may have more rows.
  const cut = events.at(-1)?.n ?? last;
  const whole = events.filter(({ n }) => n < cut);
  const part = whole.at(-1)?.n;
  if (part !== undefined) return { events: whole, after: part, change: null, more: true };
  const detail = `the query of ${rule.name} gives more than ${MOST_EVENTS} rows for change ${cut}`;
  throw new DuckmirrorError("QUERY_LIMIT", { detail });
};
