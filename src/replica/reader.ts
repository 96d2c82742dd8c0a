// The database as the replica's routes use it: the interface `Reader`, and reads of records that several routes share.
import type { z } from "zod";
import type { FieldSpec } from "../catalog/fields.ts";
import { type TableName, tableSpec } from "../catalog/tables.ts";
import type { OutValue } from "../warehouse/duckdb/out-values.ts";
import { Binds } from "./query/filters.ts";
import {
  type RecordColumns,
  type RecordsStatement,
  type RecordText,
  recordsByKey,
  recordsStatement,
} from "./query/list-query.ts";
import { defaultFields } from "./query/params.ts";

// Records by key. Keys that are asked for while a statement is under way wait for it, and are read by the next one
// together: sixteen records cost hardly more than one, and eight pages of scattered rows half of eight statements.

/** At least the records asked for, by their keys, as far as they exist. */
type Found = ReadonlyMap<string, RecordText>;

/** Only for tables whose key is one column. */
export type FindRecords = (what: RecordColumns, keys: readonly string[]) => Promise<Found>;

/** Statements of one choice of columns under way at once. */
const MOST_AT_ONCE = 2;
/** Keys of one statement, unless a single page asks for more: everyone in it waits for all of them. */
const MOST_KEYS = 1000;

interface Waiting {
  readonly keys: readonly string[];
  readonly resolve: (found: Promise<Found>) => void;
}

/** Those who asked for the same columns of one table. */
interface Queue {
  readonly waiting: Waiting[];
  running: number;
}

const nameOf = ({ table, fields, extra, links = [] }: RecordColumns): string =>
  JSON.stringify([table, extra, fields.map(({ column }) => column), links]);

/** The first of them, as many as one statement reads. */
const takeNext = (waiting: Waiting[]): readonly Waiting[] => {
  let keys = 0;
  const fitting = waiting.findIndex((each, index) => {
    keys += each.keys.length;
    return index > 0 && keys > MOST_KEYS;
  });
  return waiting.splice(0, fitting === -1 ? waiting.length : fitting);
};

/** Finds records in `reader`. Its queues are as many as there are choices of columns under way. */
export const createLookups = (reader: Reader): FindRecords => {
  const queues = new Map<string, Queue>();

  const read = async (what: RecordColumns, keys: ReadonlySet<string>): Promise<Found> => {
    const records = await readStatement(reader, recordsByKey(what, [...keys]));
    return new Map(records.map((record) => [record.key, record]));
  };

  const startNext = (name: string, queue: Queue, what: RecordColumns): void => {
    const next = takeNext(queue.waiting);
    const reading = read(what, new Set(next.flatMap(({ keys }) => keys)));
    queue.running += 1;
    for (const { resolve } of next) resolve(reading);
    const ended = () => {
      queue.running -= 1;
      if (queue.waiting.length > 0) startNext(name, queue, what);
      else if (queue.running === 0) queues.delete(name);
    };
    void reading.then(ended, ended);
  };

  return (what, keys) => {
    const name = nameOf(what);
    const queue = queues.get(name) ?? { waiting: [], running: 0 };
    queues.set(name, queue);
    return new Promise((resolve) => {
      queue.waiting.push({ keys, resolve });
      if (queue.running < MOST_AT_ONCE) startNext(name, queue, what);
    });
  };
};

/** The part of a database that reading needs; src/warehouse/duckdb/database.ts implements it. */
export interface Reader {
  query<T>(sql: string, params: readonly string[], row: z.ZodType<T>): Promise<T[]>;
  /** Rows as arrays of plain values; times as ISO 8601 text. */
  cells(sql: string, params: readonly string[]): Promise<readonly (readonly OutValue[])[]>;
}

export const readStatement = async (
  reader: Reader,
  { sql, values, recordOf }: RecordsStatement,
): Promise<readonly RecordText[]> => (await reader.cells(sql, values)).map(recordOf);

export interface RecordsRequest {
  readonly table: TableName;
  /** Default: the fields of a detail response. */
  readonly fields?: readonly FieldSpec[];
  readonly extra?: boolean;
  /** SQL condition on alias `t`. */
  readonly where: (binds: Binds) => string;
  readonly order?: string;
  readonly limit?: number;
}

/** Records of a table as JSON texts with their keys. */
export const readRecords = (reader: Reader, request: RecordsRequest): Promise<readonly RecordText[]> => {
  const binds = new Binds();
  const { table, fields = defaultFields(table, true), extra = true, order, limit } = request;
  const statement = recordsStatement({
    table,
    fields,
    extra,
    conditions: [request.where(binds)],
    binds,
    ...(order === undefined ? {} : { order }),
    ...(limit === undefined ? {} : { limit }),
  });
  return readStatement(reader, statement);
};

/** Condition: the record has one of these ids. Compared in the column's own type, so that the key's index is used. */
export const idIn =
  (table: TableName, ids: readonly string[]) =>
  (binds: Binds): string => {
    const numeric = tableSpec(table).fields.find((field) => field.name === "id")?.columnType === "BIGINT";
    // Numbers are rewritten from integers; text of a request is always bound.
    const values = ids.map((id) => (numeric ? `${BigInt(id)}::BIGINT` : binds.bind(id)));
    return values.length === 1 ? `t.id = ${values[0]}` : `t.id IN (${values.join(", ")})`;
  };

/** Condition: the column, as text, is one of these values. Ids hold no comma (they are ids of this warehouse). */
export const amongTexts =
  (column: string, values: readonly string[]) =>
  (binds: Binds): string =>
    `list_contains(string_split(${binds.bind(values.join(","))}, ','), CAST(${column} AS VARCHAR))`;
