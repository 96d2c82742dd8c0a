// Numbers the changes of the change feed, and writes it inside the transaction that makes the changes: gives each changed row its number, and stores
// what consecutive changes have in common once. The values of a change are in main and history.
// SQL is generated because the table varies; numbers and names come from the catalog and from this file.
import { BIGINT, type DuckDBTimestampTZValue, type DuckDBValue, TIMESTAMPTZ, VARCHAR } from "@duckdb/node-api";
import { z } from "zod";
import { perTable, type TableName, tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { instant, rowOf, type Sql, whole } from "../duckdb/statements.ts";

// Assigns the next numbers of the change feed. While a replay repeats the past, it skips the numbers of erased
// contacts' changes, because the archive holds these changes no longer. Pure.

/** What consecutive changes have in common. */
export interface ChangeKind {
  readonly table: TableName;
  readonly change: "insert" | "update" | "delete";
  /** Null: no run made it. */
  readonly runId: string | null;
  /** ms since the epoch. */
  readonly at: number;
}

export interface RedactedChange extends ChangeKind {
  readonly n: number;
  /** Placeholder of the contact's id. */
  readonly key: string;
}

/** Number → change that a replay cannot repeat. */
export type RedactedChanges = ReadonlyMap<number, RedactedChange>;

/** Kind of the deletes that erase contacts. `at`: ms since the epoch. */
export const forgottenKind = (at: number): ChangeKind => ({ table: "contacts", change: "delete", runId: null, at });

export const NOTHING_REDACTED: RedactedChanges = new Map();

export const redactedUpTo = (past: RedactedChanges, last: number): RedactedChanges =>
  new Map([...past].filter(([n]) => n <= last));

/** `count` consecutive numbers from `first` on. */
export interface NumberRange {
  readonly first: number;
  readonly count: number;
}

export interface Stretch {
  readonly first: number;
  readonly last: number;
  readonly kind: ChangeKind;
}

export interface NextNumbers {
  readonly ranges: readonly NumberRange[];
  /** Redacted changes before and between them, and those of their kind behind them. */
  readonly redacted: readonly RedactedChange[];
  /** All of them by kind, in order. */
  readonly stretches: readonly Stretch[];
  readonly last: number;
}

const isSameKind = (a: ChangeKind, b: ChangeKind): boolean =>
  a.table === b.table && a.change === b.change && a.runId === b.runId && a.at === b.at;

/** The stretches with one more number of a kind. */
const extended = (stretches: readonly Stretch[], n: number, { table, change, runId, at }: ChangeKind) => {
  const kind = { table, change, runId, at };
  const previous = stretches.at(-1);
  if (previous === undefined || !isSameKind(previous.kind, kind)) return [...stretches, { first: n, last: n, kind }];
  return [...stretches.slice(0, -1), { ...previous, last: n }];
};

/**
 * Numbers of the next `count` changes of a kind after `last`. Redacted changes of another kind that follow them are left to
 * the next call; `count` 0 takes all that follow.
 */
export const nextNumbers = (
  last: number,
  { count, kind }: { readonly count: number; readonly kind: ChangeKind },
  redacted: RedactedChanges,
): NextNumbers => {
  if (redacted.size === 0) {
    const stretches = count === 0 ? [] : [{ first: last + 1, last: last + count, kind }];
    return { ranges: [{ first: last + 1, count }], redacted: [], stretches, last: last + count };
  }
  const ranges: { first: number; count: number }[] = [];
  const skipped: RedactedChange[] = [];
  let stretches: readonly Stretch[] = [];
  let n = last;
  for (let left = count; ; ) {
    const skip = redacted.get(n + 1);
    const isOver = skip === undefined || (count > 0 && !isSameKind(skip, kind));
    if (left === 0 && isOver) return { ranges, redacted: skipped, stretches, last: n };
    n += 1;
    stretches = extended(stretches, n, skip ?? kind);
    const range = ranges.at(-1);
    if (skip !== undefined) skipped.push(skip);
    else {
      left -= 1;
      if (range !== undefined && range.first + range.count === n) range.count += 1;
      else ranges.push({ first: n, count: 1 });
    }
  }
};

/** SQL expression of a row's number; `order`: columns that give the order of the rows. */
export const numberSql = (ranges: readonly NumberRange[], order: string): string => {
  const place = `row_number() OVER (ORDER BY ${order})`;
  const cases: string[] = [];
  let before = 0;
  for (const { first, count } of ranges) {
    const number = `${place} + ${first - 1 - before}`;
    if (ranges.length === 1) return number;
    before += count;
    cases.push(`WHEN ${place} <= ${before} THEN ${number}`);
  }
  return `CASE ${cases.join(" ")} END`;
};

/** The change feed inside one transaction. */
export interface ChangeLog {
  /**
   * Gives numbers to the `count` rows of `source` (a table or subquery with the key's columns), in the order of their
   * keys, and stores their keys. Returns the SQL expression of a row's number, over the alias `k`.
   */
  add(kind: ChangeKind, count: number, source: string): Promise<string>;
  /** Adds the redacted changes that a replay has reached, and changes of erased contacts behind them. */
  addRedacted(kind: ChangeKind, keys: readonly string[]): Promise<void>;
  /**
   * The earliest time of a change in this transaction: after every change before it, whatever the clock says. Versions
   * begin and end no earlier, so `as_of` at the time of a change shows exactly the changes up to it.
   */
  after(): Promise<DuckDBTimestampTZValue | null>;
  /** Stores how far the feed has come. The last call of a transaction that may have changed rows. */
  end(): Promise<void>;
}

const stateRow = rowOf({
  /** Number of the last change. */
  last: z.number(),
  /** Latest time of a change, ms since the epoch; 0: there was none. */
  lastAt: z.number(),
  /** The feed still has to start. */
  pending: z.boolean(),
});
export type FeedState = Readonly<z.output<typeof stateRow>>;

/** How far the feed of this file has come. */
export const readFeedState = async (sql: Sql): Promise<FeedState> => {
  const [state] = await sql.query(sqlText("warehouse/change-feed.sql"), [], stateRow);
  return state ?? { last: 0, lastAt: 0, pending: true };
};

/** The key's columns of the alias `k`, in order, and where `sync.changes` stores them as text. */
const storedKey = perTable((table) => {
  const key = tableSpec(table).key.map((column) => `k.${quoted(column)}`);
  return {
    order: key.join(", "),
    names: key.map((_, index) => `key_${index + 1}`).join(", "),
    texts: key.map((column) => `CAST(${column} AS VARCHAR)`).join(", "),
  };
});

const KEY_TYPES = [BIGINT, VARCHAR, VARCHAR, VARCHAR];
const BATCH_TYPES = [BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, TIMESTAMPTZ];

/** Opens the feed in a transaction. `past`: changes that a replay cannot repeat. */
export const openChangeLog = (tx: Sql, past: RedactedChanges = NOTHING_REDACTED): ChangeLog => {
  /** How far it had come before, read when it is needed. */
  let before: FeedState | null = null;
  let last = 0;
  const batches: DuckDBValue[][] = [];

  const begin = async (): Promise<FeedState> => {
    if (before === null) {
      before = await readFeedState(tx);
      last = before.last;
    }
    return before;
  };
  const take = async (kind: ChangeKind, count: number): Promise<readonly NumberRange[]> => {
    const { lastAt } = await begin();
    const later = { ...kind, at: Math.max(kind.at, lastAt + 1) };
    const next = nextNumbers(last, { count, kind: later }, past);
    last = next.last;
    for (const { first, last: to, kind: own } of next.stretches) {
      batches.push([whole(first), whole(to), own.table, own.change, own.runId, instant(own.at)]);
    }
    if (next.redacted.length > 0) {
      const keys = next.redacted.map(({ n, key }) => [whole(n), key, null, null]);
      await tx.append("sync.changes", KEY_TYPES, keys);
    }
    return next.ranges;
  };

  return {
    add: async (kind, count, source) => {
      const ranges = await take(kind, count);
      const { order, names, texts } = storedKey(kind.table);
      const number = numberSql(ranges, order);
      await tx.run(`INSERT INTO sync.changes (n, ${names}) SELECT ${number}, ${texts} FROM ${source} AS k`);
      return number;
    },
    addRedacted: async (kind, keys) => {
      const ranges = await take(kind, keys.length);
      const numbers = ranges.flatMap(({ first, count }) => Array.from({ length: count }, (_, index) => first + index));
      const rows = keys.map((key, index) => [whole(numbers[index] ?? 0), key, null, null]);
      if (rows.length > 0) await tx.append("sync.changes", KEY_TYPES, rows);
    },
    after: async () => instant((await begin()).lastAt + 1),
    end: async () => {
      if (batches.length > 0) await tx.append("sync.change_batches", BATCH_TYPES, batches);
    },
  };
};
