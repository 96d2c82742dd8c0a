// Caches of the replica, which serves lists from a snapshot that never changes: the keys of a list in its order, so that a page needs no
// sort, and the columns that hold no value. A cache is limited in bytes and drops the least recently used values.
import type { FieldSpec } from "../../catalog/fields.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";
import type { Sql } from "../../warehouse/duckdb/statements.ts";
import { filledStatement, orderBy } from "../query/list-query.ts";
import type { Reader } from "../reader.ts";

// Keys of whole lists in their order, in memory: the keys of a page are a slice, and no statement has to read and sort the
// table for it. Only for a reader whose rows never change, and for tables whose key is one whole number.
// An order is read in the background, after ORDER_WORTH_AFTER pages of it were found by statements.

// Statements that read a whole list in its order: keys only, for the orders below. PURE.

/** Order of the lists of one table: the whole one, or those of each value of a column. */
export interface ListOrder {
  readonly table: TableName;
  readonly sortBy: FieldSpec;
  readonly sortOrder: "asc" | "desc";
  /** BIGINT column with one list per value; null: one list of all rows. */
  readonly per: string | null;
}

const isBigint = (table: TableName, column: string): boolean =>
  tableSpec(table).fields.some((field) => field.column === column && field.columnType === "BIGINT");

/** Whether the keys of a table are whole numbers, each of one column. */
export const hasNumberKey = (table: TableName): boolean => {
  const { key } = tableSpec(table);
  return key.length === 1 && isBigint(table, key[0] ?? "");
};

/** One row per list, in the order of `keysInOrder`: the value of its column as text, and its number of rows. */
export const listSizes = ({ table, per }: ListOrder): string => {
  if (per === null) return `SELECT '', count(*) FROM main.${quoted(table)}`;
  const column = quoted(per);
  return `SELECT CAST(${column} AS VARCHAR), count(*) FROM main.${quoted(table)}
WHERE ${column} IS NOT NULL GROUP BY ${column} ORDER BY ${column}`;
};

/** One column: the keys of one list after the other, each in its order. With `places` another one: where each row lies. */
export const keysInOrder = (order: ListOrder, places: boolean): string => {
  const { table, per } = order;
  const key = `t.${quoted(tableSpec(table).key[0] ?? "")}`;
  const from = `SELECT ${key}${places ? ", t.rowid" : ""} FROM main.${quoted(table)} AS t`;
  return per === null
    ? `${from} ORDER BY ${orderBy(order)}`
    : `${from} WHERE t.${quoted(per)} IS NOT NULL ORDER BY t.${quoted(per)}, ${orderBy(order)}`;
};

/** Keys of a list's page, and the number of rows of the whole list. */
export interface PageKeys {
  readonly total: number;
  readonly keys: readonly string[];
  /** Where the rows of the keys lie in the table, if that is known. */
  readonly places?: readonly number[];
}

export interface ListOrders {
  /**
   * A page of the list with this value in the column `order.per` (any value for the whole list); undefined: the order is
   * not known yet.
   */
  page(order: ListOrder, value: string, offset: number, limit: number): PageKeys | undefined;
}

/** Keys of one list after the other, and the place of each list. */
export interface KnownOrder {
  readonly keys: BigInt64Array;
  /** Row numbers of the table, in the order of the keys; null: not kept. */
  readonly places: Uint32Array | null;
  readonly lists: ReadonlyMap<string, { readonly from: number; readonly rows: number }>;
}

/** Pages found by statements before an order is made: it costs as much as 50 to 150 of them. */
const ORDER_WORTH_AFTER = 50;
/** What a list takes beside its keys. */
const LIST_BYTES = 160;

const bytesOf = (rows: number, lists: number, places: boolean): number =>
  rows * (BigInt64Array.BYTES_PER_ELEMENT + (places ? Uint32Array.BYTES_PER_ELEMENT : 0)) + lists * LIST_BYTES;

const nameOf = ({ table, sortBy, sortOrder, per }: ListOrder): string =>
  [table, sortBy.column, sortOrder, per ?? ""].join(" ");

const cut = ({ keys, places, lists }: KnownOrder, value: string, offset: number, limit: number): PageKeys => {
  const { from, rows } = lists.get(value) ?? { from: 0, rows: 0 };
  const [start, end] = [from + Math.min(offset, rows), from + Math.min(offset + limit, rows)];
  const page = { total: rows, keys: Array.from(keys.subarray(start, end), String) };
  return places === null ? page : { ...page, places: [...places.subarray(start, end)] };
};

export interface OrdersOptions {
  /** Rows that never change. */
  readonly reader: Pick<Sql, "cells" | "integers">;
  /** Where orders are kept, also those of other readers. */
  readonly cache: Cache<KnownOrder>;
  /** Most bytes of one order. */
  readonly mostBytes: number;
  /** Name of the reader among the kept orders. */
  readonly name: string;
}

/** Orders of the lists of one reader. */
export const createListOrders = ({ reader, cache, mostBytes, name }: OrdersOptions): ListOrders => {
  /** Order → pages found by statements since it was last known. */
  const asked = new Map<string, number>();
  let making = false;

  const read = async (order: ListOrder): Promise<KnownOrder | null> => {
    const lists = new Map<string, { from: number; rows: number }>();
    let from = 0;
    for (const [value, count] of await reader.cells(listSizes(order), [])) {
      const rows = Number(count);
      lists.set(String(value), { from, rows });
      from += rows;
    }
    if (bytesOf(from, lists.size, false) > mostBytes) return null;
    // Rows of one account are scattered over the table, those of a page of all rows mostly lie near each other.
    const places = order.per === null && bytesOf(from, lists.size, true) <= mostBytes ? new Uint32Array(from) : null;
    const keys = new BigInt64Array(from);
    await reader.integers(keysInOrder(order, places !== null), keys, places);
    return { keys, places, lists };
  };
  const make = async (order: ListOrder): Promise<void> => {
    const known = await read(order);
    if (known === null) return;
    asked.delete(nameOf(order));
    cache.set(`${name} ${nameOf(order)}`, known, bytesOf(known.keys.length, known.lists.size, known.places !== null));
  };
  const startMaking = (order: ListOrder): void => {
    // Counts no further: an order that is too large, or cannot be read, is not tried again. Its pages are found by statements.
    asked.set(nameOf(order), Number.NEGATIVE_INFINITY);
    making = true;
    void make(order)
      .catch(() => undefined)
      .finally(() => {
        making = false;
      });
  };

  return {
    page: (order, value, offset, limit) => {
      if (!hasNumberKey(order.table)) return undefined;
      const known = cache.get(`${name} ${nameOf(order)}`);
      if (known !== undefined) return cut(known, value, offset, limit);
      const times = (asked.get(nameOf(order)) ?? 0) + 1;
      asked.set(nameOf(order), times);
      if (times > ORDER_WORTH_AFTER && !making) startMaking(order);
      return undefined;
    },
  };
};

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

export interface Cache<T> {
  get(key: string): T | undefined;
  /** `bytes`: what the value takes. A value larger than the bound is not kept. */
  set(key: string, value: T, bytes: number): void;
  /** Drops the values whose keys begin with this text. */
  dropAll(beginning: string): void;
}

/** Keeps values of at most `mostBytes` together. */
export const createCache = <T>(mostBytes: number): Cache<T> => {
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
