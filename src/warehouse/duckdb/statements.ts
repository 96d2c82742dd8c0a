// Statements on one connection: rows parsed by a schema, values bound, columns appended.
import type { DuckDBConnection, DuckDBMaterializedResult, DuckDBType } from "@duckdb/node-api";
import { z } from "zod";
import { snakeCase } from "../../catalog/fields.ts";
import { appendChunks, type ColumnChunk } from "./append.ts";
import { fromDuck, type SqlValue, toDuck } from "./duck-values.ts";
import type { OutValue } from "./out-values.ts";

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
  /** Appends chunks whose columns are the table's columns, in order. */
  append(table: string, types: readonly DuckDBType[], chunks: Iterable<ColumnChunk>): Promise<void>;
}

/** The part of `Sql` that reads rows. */
export type ReadSql = Pick<Sql, "query">;

const isRow = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Schema of a row whose columns have the names of `shape` in snake case: `last_check_at` is read as `lastCheckAt`. */
export const rowOf = <Shape extends z.ZodRawShape>(shape: Shape) => {
  const columns = Object.keys(shape).map((name) => [name, snakeCase(name)] as const);
  const renamed = (row: Readonly<Record<string, unknown>>) => {
    const named: Record<string, unknown> = {};
    for (const [name, column] of columns) named[name] = row[column];
    return named;
  };
  return z.preprocess((row) => (isRow(row) ? renamed(row) : row), z.object(shape));
};

const bind = (params: readonly SqlValue[]) => {
  const bound = params.map(toDuck);
  return { values: bound.map(({ value }) => value), types: bound.map(({ type }) => type) };
};

/** Runs one statement with parameters. `connection.run` with parameters would parse it twice. */
const runPrepared = async (connection: DuckDBConnection, sql: string, params: readonly SqlValue[]) => {
  const statement = await connection.prepare(sql);
  try {
    const { values, types } = bind(params);
    statement.bind(values, types);
    return await statement.run();
  } finally {
    statement.destroySync();
  }
};

const runWith = (connection: DuckDBConnection, sql: string, params: readonly SqlValue[]) =>
  params.length === 0 ? connection.run(sql) : runPrepared(connection, sql, params);

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

/** Statements on one connection; the caller owns the connection. `onAppend` hears how many rows were appended. */
export const statementsOn = (connection: DuckDBConnection, onAppend: (rows: number) => void): Sql => ({
  async query(sql, params, row) {
    const result = await runWith(connection, sql, params);
    const names = result.deduplicatedColumnNames();
    const rows = await result.getRows();
    const objects = rows.map((cells): Record<string, OutValue> => {
      const pairs = cells.map((cell, index) => [names[index] ?? "", fromDuck(cell, "ms")] as const);
      return Object.fromEntries(pairs);
    });
    return z.array(row).parse(objects);
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
  append: async (table, types, chunks) => onAppend(await appendChunks(connection, table, types, chunks)),
});
