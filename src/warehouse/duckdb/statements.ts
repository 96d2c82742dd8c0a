// Runs SQL statements on one connection: binds values, parses rows by a schema, appends rows.
import * as client from "@duckdb/node-api";
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  type DuckDBConnection,
  DuckDBDataChunk,
  type DuckDBMaterializedResult,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  HUGEINT,
  LIST,
  listValue,
  SQLNULL,
  TIMESTAMPTZ,
  VARCHAR,
} from "@duckdb/node-api";
import { z } from "zod";
import { snakeCase } from "../../catalog/fields.ts";
import { type OutValue, readerOf } from "./out-values.ts";

/** The mirror's own client. */
export const { fromDuck, isoOfMicros } = readerOf(client);

/** Value of a statement's parameter. Whole numbers bind as BIGINT, others as DOUBLE, arrays as VARCHAR[]. */
export type SqlValue = null | boolean | number | bigint | string | DuckDBTimestampTZValue | readonly (string | null)[];

/** `ms` since the epoch (fractions down to a microsecond count) as a TIMESTAMPTZ, bound or appended; null stays NULL. */
export const instant = (ms: number | null): DuckDBTimestampTZValue | null =>
  ms === null ? null : new DuckDBTimestampTZValue(BigInt(Math.round(ms * 1000)));

/** A whole number as a BIGINT, bound or appended; null stays NULL. */
export const whole = (value: number | null): bigint | null => (value === null ? null : BigInt(Math.round(value)));

/**
 * A parameter in the form of DuckDB's client. The type is given, because the client would bind a bigint as HUGEINT.
 */
export const toDuck = (value: SqlValue): { readonly value: DuckDBValue; readonly type: DuckDBType } => {
  if (value === null) return { value, type: SQLNULL };
  if (typeof value === "string") return { value, type: VARCHAR };
  if (typeof value === "boolean") return { value, type: BOOLEAN };
  if (typeof value === "number") {
    return Number.isSafeInteger(value) ? { value: BigInt(value), type: BIGINT } : { value, type: DOUBLE };
  }
  if (typeof value === "bigint") return { value, type: BigInt.asIntN(64, value) === value ? BIGINT : HUGEINT };
  if (value instanceof DuckDBTimestampTZValue) return { value, type: TIMESTAMPTZ };
  return { value: listValue([...value]), type: LIST(VARCHAR) };
};

/** Values of rows, in the order of their table's columns. */
export type Rows = readonly (readonly DuckDBValue[])[];

/** Statements inside one transaction, or each on its own. */
export interface Sql {
  /**
   * Rows of a statement, each parsed by `row` (column name → value). BIGINT comes as number while exact, else bigint;
   * TIMESTAMPTZ as ms since the epoch whose fraction holds the microseconds; VARCHAR[] as array; JSON as text.
   */
  query<T>(sql: string, params: readonly SqlValue[], row: z.ZodType<T>): Promise<T[]>;
  /** Rows of a statement as arrays of plain values, unparsed; TIMESTAMPTZ as ISO 8601 text, the rest as `query`. */
  cells(sql: string, params: readonly SqlValue[]): Promise<readonly (readonly OutValue[])[]>;
  /**
   * Fills `first` and `second` with the columns of a statement's rows, BIGINT and never NULL, a few thousand at a time.
   * Throws if there are more or fewer rows than elements, or `second` has no room for a value.
   */
  integers(sql: string, first: BigInt64Array, second: Uint32Array | null): Promise<void>;
  /** Runs one statement, or several if there are no parameters. Returns the number of changed rows. */
  run(sql: string, params?: readonly SqlValue[]): Promise<number>;
  /** Appends rows to `table` (`name` or `schema.name`); `types`: those of the table's columns, in order. */
  append(table: string, types: readonly DuckDBType[], rows: Rows): Promise<void>;
}

/** The part of `Sql` that reads rows. */
export type ReadSql = Pick<Sql, "query">;

const isRow = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Schema of a row whose columns have the names of `shape` in snake case: `last_check_at` is read as `lastCheckAt`. */
export const rowOf = <Shape extends z.ZodRawShape>(shape: Shape) => {
  const columns = Object.keys(shape).map((name) => [name, snakeCase(name)] as const);
  const named = (row: unknown) => {
    if (!isRow(row)) return row;
    const renamed: Record<string, unknown> = {};
    for (const [name, column] of columns) renamed[name] = row[column];
    return renamed;
  };
  return z.preprocess(named, z.object(shape));
};

/** Schema of a BIGINT as bigint, such as a row id. */
export const bigintCell = z.union([z.bigint(), z.number()]).transform(BigInt);

/** Runs one statement with parameters, or several without: `connection.run` with parameters would parse it twice. */
const runWith = async (connection: DuckDBConnection, sql: string, params: readonly SqlValue[]) => {
  if (params.length === 0) return connection.run(sql);
  const statement = await connection.prepare(sql);
  try {
    const values: DuckDBValue[] = [];
    const types: DuckDBType[] = [];
    for (const param of params) {
      const { value, type } = toDuck(param);
      values.push(value);
      types.push(type);
    }
    statement.bind(values, types);
    return await statement.run();
  } finally {
    statement.destroySync();
  }
};

/**
 * Rows of a result that is complete. Its chunks are there already: to fetch them, two more tasks would wait behind the
 * statements of others.
 */
const cellsOf = (result: DuckDBMaterializedResult): OutValue[][] => {
  const rows: OutValue[][] = [];
  for (let index = 0; index < result.chunkCount; index += 1) {
    for (const row of result.getChunk(index).getRows()) rows.push(row.map((cell) => fromDuck(cell, "iso")));
  }
  return rows;
};

/** Rows that DuckDB takes at once: the size of its vectors. */
const CHUNK_ROWS = 2048;

/** Counts the rows appended to a file since its freed memory was last returned to the system. */
export interface Appended {
  appendedRows: number;
}

/** Statements on one connection; the caller owns the connection. Appended rows are counted in `appended`. */
export const statementsOn = (connection: DuckDBConnection, appended: Appended): Sql => ({
  async query(sql, params, row) {
    const result = await runWith(connection, sql, params);
    const names = result.deduplicatedColumnNames();
    const rows: Record<string, OutValue>[] = [];
    for (const cells of await result.getRows()) {
      const named: Record<string, OutValue> = {};
      for (const [index, name] of names.entries()) named[name] = fromDuck(cells[index], "ms");
      rows.push(named);
    }
    return z.array(row).parse(rows);
  },
  async cells(sql, params) {
    return cellsOf(await runWith(connection, sql, params));
  },
  async integers(sql, first, second) {
    const result = await connection.stream(sql);
    let rows = 0;
    for (
      let chunk = await result.fetchChunk();
      chunk !== null && chunk.rowCount > 0;
      chunk = await result.fetchChunk()
    ) {
      const from = rows;
      chunk.visitColumnValues(0, (value, row) => {
        if (typeof value !== "bigint") throw new TypeError("a value is no BIGINT");
        first[from + row] = value;
      });
      if (second !== null) {
        chunk.visitColumnValues(1, (value, row) => {
          if (typeof value !== "bigint" || BigInt.asUintN(32, value) !== value)
            throw new TypeError("a value is no number of 32 bits");
          second[from + row] = Number(value);
        });
      }
      rows += chunk.rowCount;
    }
    if (rows !== first.length) throw new TypeError(`${rows} rows for ${first.length} elements`);
  },
  async run(sql, params = []) {
    return (await runWith(connection, sql, params)).rowsChanged;
  },
  /** In chunks of columns, the fastest way to insert (docs/decisions/loading.md). */
  async append(table, types, rows) {
    const [name = table, schema] = table.split(".").reverse();
    const appender = await connection.createAppender(name, schema ?? null);
    try {
      for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
        const part = rows.slice(from, from + CHUNK_ROWS);
        const chunk = DuckDBDataChunk.create(types, part.length);
        chunk.setRows(part);
        appender.appendDataChunk(chunk);
      }
      appender.flushSync();
      appended.appendedRows += rows.length;
    } finally {
      appender.closeSync();
    }
  },
});
