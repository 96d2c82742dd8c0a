// Numbers the changes of the change feed, and writes it inside the transaction that makes the changes: gives each changed row its number, and stores
// what consecutive changes have in common once. The values of a change are in main and history.
// SQL is generated because the table varies; numbers and names come from the catalog and from this file.
import {
  BIGINT,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  TIMESTAMPTZ,
  VARCHAR,
} from "@duckdb/node-api";
import { z } from "zod";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";
import { CHUNK_ROWS } from "../duckdb/append.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { rowOf, type Sql } from "../duckdb/statements.ts";

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
export const numberSql = (ranges: readonly NumberRange[], order: readonly string[]): string => {
  const place = `row_number() OVER (ORDER BY ${order.join(", ")})`;
  let before = 0;
  const cases = ranges.map(({ first, count }) => {
    const number = `${place} + ${first - 1 - before}`;
    before += count;
    return { number, upTo: before };
  });
  const [only] = cases;
  if (cases.length === 1 && only !== undefined) return only.number;
  return `CASE ${cases.map(({ number, upTo }) => `WHEN ${place} <= ${upTo} THEN ${number}`).join(" ")} END`;
};

// Writes rows into the tables of schema sync.

/** A time in ms since the epoch as an appended cell. */
export const at = (ms: number | null): DuckDBValue =>
  ms === null ? null : new DuckDBTimestampTZValue(BigInt(Math.round(ms * 1000)));
/** A whole number as an appended cell. */
export const whole = (value: number | null): DuckDBValue => (value === null ? null : BigInt(Math.round(value)));

type Rows = readonly (readonly DuckDBValue[])[];

export const append = (tx: Sql, table: string, types: readonly DuckDBType[], rows: Rows): Promise<void> => {
  const chunks: DuckDBValue[][][] = [];
  for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
    const part = rows.slice(from, from + CHUNK_ROWS);
    chunks.push(types.map((_, column) => part.map((row) => row[column] ?? null)));
  }
  return tx.append(table, types, chunks);
};

/** Inserts rows into a table of schema sync with a statement that reads them from `incoming`. */
export const writeThrough = async (
  tx: Sql,
  table: string,
  types: readonly DuckDBType[],
  rows: Rows,
  statement: string,
) => {
  if (rows.length === 0) return;
  await tx.run(`CREATE OR REPLACE TEMP TABLE incoming AS SELECT * FROM sync.${table} LIMIT 0`);
  await append(tx, "incoming", types, rows);
  await tx.run(sqlText(statement));
};

/** The change feed inside one transaction. */
export interface ChangeLog {
  /**
   * Gives numbers to the `count` rows of `source` (a table or subquery with the key's columns), in the order of their
   * keys, and stores their keys. Returns the SQL expression of a row's number; `alias`: the rows' alias.
   */
  add(kind: ChangeKind, count: number, source: string): Promise<(alias: string) => string>;
  /** Adds the redacted changes that a replay has reached, and changes of erased contacts behind them. */
  addRedacted(kind: ChangeKind, keys: readonly string[]): Promise<void>;
  /**
   * SQL expression of the earliest time of a change in this transaction: after every change before it, whatever the clock
   * says. Versions begin and end no earlier, so `as_of` at the time of a change shows exactly the changes up to it.
   */
  after(): Promise<string>;
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

const keyOf = (table: TableName, alias: string): readonly string[] =>
  tableSpec(table).key.map((column) => `${alias}.${quoted(column)}`);

const insertKeys = (table: TableName, number: string, source: string): string => {
  const key = keyOf(table, "k");
  const names = ["n", ...key.map((_, index) => `key_${index + 1}`)];
  const values = [number, ...key.map((column) => `CAST(${column} AS VARCHAR)`)];
  return `INSERT INTO sync.changes (${names.join(", ")}) SELECT ${values.join(", ")} FROM ${source} AS k`;
};

/** Opens the feed in a transaction. `past`: changes that a replay cannot repeat. */
export const openChangeLog = (tx: Sql, past: RedactedChanges = NOTHING_REDACTED): ChangeLog => {
  let before: FeedState | null = null;
  let last = 0;
  const batches: (readonly DuckDBValue[])[] = [];

  const storeKeys = (keys: readonly { readonly n: number; readonly key: string }[]) =>
    append(
      tx,
      "sync.changes",
      [BIGINT, VARCHAR, VARCHAR, VARCHAR],
      keys.map(({ n, key }): DuckDBValue[] => [whole(n), key, null, null]),
    );
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
      batches.push([whole(first), whole(to), own.table, own.change, own.runId, at(own.at)]);
    }
    if (next.redacted.length > 0) await storeKeys(next.redacted);
    return next.ranges;
  };

  return {
    add: async (kind, count, source) => {
      const ranges = await take(kind, count);
      const number = (alias: string) => numberSql(ranges, keyOf(kind.table, alias));
      await tx.run(insertKeys(kind.table, number("k"), source));
      return number;
    },
    addRedacted: async (kind, keys) => {
      const ranges = await take(kind, keys.length);
      if (keys.length === 0) return;
      const numbers = ranges.flatMap(({ first, count }) => Array.from({ length: count }, (_, index) => first + index));
      await storeKeys(keys.map((key, index) => ({ n: numbers[index] ?? 0, key })));
    },
    after: async () => `make_timestamptz(${((await begin()).lastAt + 1) * 1000})`,
    end: async () => {
      const types = [BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, TIMESTAMPTZ];
      if (batches.length > 0) await append(tx, "sync.change_batches", types, batches);
    },
  };
};
