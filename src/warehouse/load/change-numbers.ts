// Assigns the next numbers of the change feed. While a replay repeats the past, it skips the numbers of erased
// contacts' changes, because the archive holds these changes no longer. Pure.
import type { TableName } from "../../catalog/tables.ts";

/** What consecutive changes have in common. */
export interface ChangeKind {
  readonly table: TableName;
  readonly change: "insert" | "update" | "delete";
  /** Null: no run made it. */
  readonly runId: string | null;
  /** ms since the epoch. */
  readonly at: number;
}

/** A change of an erased contact. */
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

/** The changes with a number up to `last`. */
export const redactedUpTo = (past: RedactedChanges, last: number): RedactedChanges =>
  new Map([...past].filter(([n]) => n <= last));

/** `count` consecutive numbers from `first` on. */
export interface NumberRange {
  readonly first: number;
  readonly count: number;
}

/** Consecutive numbers of one kind. */
export interface Stretch {
  readonly first: number;
  readonly last: number;
  readonly kind: ChangeKind;
}

export interface NextNumbers {
  /** Numbers of the changes, in order. */
  readonly ranges: readonly NumberRange[];
  /** Redacted changes before and between them, and those of their kind behind them. */
  readonly redacted: readonly RedactedChange[];
  /** All of them by kind, in order. */
  readonly stretches: readonly Stretch[];
  /** The last number given. */
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
