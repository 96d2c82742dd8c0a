// Values that may be made again, kept up to a number of bytes: those used longest ago go first.
import type { FieldSpec } from "../../catalog/fields.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { filledStatement } from "../query/list-query.ts";
import type { Reader } from "../reader.ts";

// Which columns of a table hold a value in any row. The text of a record leaves NULL out, so the others need not be read: of
// 21 columns of signals, twelve empty ones took a fifth of the processor time of a page. Only for a reader whose rows never change.
// The columns of a table are looked up once, in the background, after WORTH_AFTER reads.

/** Columns of one table that a statement is to read. */
interface Columns {
  readonly table: TableName;
  readonly fields: readonly FieldSpec[];
  /** Append the content of `_extra`. */
  readonly extra: boolean;
}

export interface FilledColumns {
  /** The same columns without the empty ones, as far as they are known. */
  of<T extends Columns>(columns: T): T;
}

/** Reads of a table before its columns are looked up: that costs about as much as ten pages save. */
const WORTH_AFTER = 10;

/** For a reader whose rows may change: no column is known to be empty. */
export const everyColumn: FilledColumns = { of: (columns) => columns };

/** Columns of the tables of one reader. */
export const createFilledColumns = (reader: Pick<Reader, "cells">): FilledColumns => {
  const reads = new Map<TableName, number>();
  const filled = new Map<TableName, ReadonlySet<string>>();

  const lookUp = async (table: TableName): Promise<void> => {
    const columns = [...tableSpec(table).fields.map(({ column }) => column), "_extra"];
    const [found = []] = await reader.cells(filledStatement(table, columns), []);
    filled.set(table, new Set(columns.filter((_, index) => found[index] !== false)));
  };

  return {
    of: (columns) => {
      const { table, fields, extra } = columns;
      const known = filled.get(table);
      if (known !== undefined) {
        return {
          ...columns,
          fields: fields.filter(({ column }) => known.has(column)),
          extra: extra && known.has("_extra"),
        };
      }
      const times = (reads.get(table) ?? 0) + 1;
      reads.set(table, times);
      // Once: a table that cannot be looked up is read with every column.
      if (times === WORTH_AFTER) void lookUp(table).catch(() => undefined);
      return columns;
    },
  };
};

export interface Kept<T> {
  get(key: string): T | undefined;
  /** `bytes`: what the value takes. A value larger than the bound is not kept. */
  set(key: string, value: T, bytes: number): void;
  /** Drops the values whose keys begin with this text. */
  dropAll(beginning: string): void;
}

/** Keeps values of at most `mostBytes` together. */
export const createKept = <T>(mostBytes: number): Kept<T> => {
  /** In the order of their last use. */
  const entries = new Map<string, { readonly value: T; readonly bytes: number }>();
  let total = 0;

  const drop = (key: string): void => {
    total -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };
  return {
    get: (key) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set: (key, value, bytes) => {
      drop(key);
      if (bytes > mostBytes) return;
      entries.set(key, { value, bytes });
      total += bytes;
      for (const oldest of entries.keys()) {
        if (total <= mostBytes) break;
        drop(oldest);
      }
    },
    dropAll: (beginning) => {
      for (const key of [...entries.keys()].filter((key) => key.startsWith(beginning))) drop(key);
    },
  };
};
