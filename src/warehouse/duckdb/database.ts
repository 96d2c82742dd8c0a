// One DuckDB file, opened once. Queries run concurrently, writers one after another, each on its own connection.
// Only src/warehouse imports DuckDB's client; the sandbox and the replica open their files through this module.
import type { DuckDBConnection } from "@duckdb/node-api";
import { fileError, isOutOfMemory } from "./duck-errors.ts";
import { createQueue } from "./gate.ts";
import type { DatabaseOptions } from "./instance.ts";
import { createMemory, type Effort, openFileOf } from "./open-file.ts";
import { type Sql, statementsOn } from "./statements.ts";

export interface TransactionOptions {
  /**
   * Called after a failed COMMIT, which may be durable nevertheless: returns whether the file holds the transaction's
   * changes. Without it, a transaction whose COMMIT failed is not repeated.
   */
  readonly isCommitted?: (sql: Sql) => Promise<boolean>;
}

export interface Database extends Sql {
  readonly file: string;
  /**
   * Runs `work` in one transaction on its own connection, after all earlier writers. Any throw rolls back. With
   * `memory`, `work` may run several times; all runs but the last are rolled back.
   */
  transaction<T>(work: (tx: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Closes the file cleanly, without a WAL, and runs `work` while other calls wait; the next call opens the file
   * again. Do not call it inside `transaction`. Throws WAREHOUSE_CORRUPT and does nothing when the file at the path
   * is no longer the one that was opened.
   */
  offline<T>(work: () => Promise<T>): Promise<T>;
  /** Moves everything from the WAL into the file. */
  flushWal(): Promise<void>;
  /** `keepsWal`: leaves the WAL beside the file, to be read at the next opening. Default: moves it into the file. */
  close(options?: { readonly keepsWal: boolean }): Promise<void>;
}

/** Appended rows after which returning freed memory to the system is worth its 2 ms. */
const ROWS_WORTH_FREEING = 1_000;

/**
 * Runs `work` between BEGIN and COMMIT. `failure`: the error of the COMMIT, which may be durable nevertheless. Throws
 * the error of `work`.
 */
const attempt = async <T>(connection: DuckDBConnection, sql: Sql, work: (tx: Sql) => Promise<T>) => {
  await connection.run("BEGIN TRANSACTION");
  let result: T;
  try {
    result = await work(sql);
  } catch (error) {
    // After a fatal error there is nothing to roll back.
    await connection.run("ROLLBACK").catch(() => undefined);
    throw error;
  }
  try {
    await connection.run("COMMIT");
    return { result, failure: null };
  } catch (failure) {
    // Usually DuckDB has rolled back already.
    await connection.run("ROLLBACK").catch(() => undefined);
    return { result, failure };
  }
};

/**
 * Opens a DuckDB file, creating it if need be. One process must open a file for writing only once at a time.
 * Throws DuckDB's own error when it cannot (see duck-errors.ts, `openError`).
 */
export const openDatabase = async (file: string, options: DatabaseOptions = {}): Promise<Database> => {
  const memory = options.memory === undefined ? null : createMemory(options.memory);
  const open = await openFileOf(file, options, memory);
  const writers = createQueue();
  /** Rows appended since memory was last returned to the system. */
  let appended = 0;
  const statements = (connection: DuckDBConnection) =>
    statementsOn(connection, (rows) => {
      appended += rows;
    });

  /** Repeats the work until memory suffices, and translates errors for the caller. */
  const persistently = async <T>(work: (effort: Effort) => Promise<T>): Promise<T> => {
    try {
      return await (memory === null ? work("usual") : memory.goOn(work));
    } catch (error) {
      throw fileError(error, file, options.readOnly === true);
    }
  };
  const statement = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    persistently((effort) => open.withConnection(effort, (connection) => work(statements(connection))));

  const inTransaction = async <T>(connection: DuckDBConnection, work: (tx: Sql) => Promise<T>) => {
    if (appended >= ROWS_WORTH_FREEING) {
      await open.freeMemory(connection);
      appended = 0;
    }
    const ended = await attempt(connection, statements(connection), work);
    if (ended.failure !== null) open.distrust();
    return ended;
  };
  const transaction = <T>(work: (tx: Sql) => Promise<T>, { isCommitted }: TransactionOptions = {}): Promise<T> =>
    writers(() =>
      persistently(async (effort) => {
        const under = memory?.limitText();
        const { result, failure } = await open.withConnection(effort, (connection) => inTransaction(connection, work));
        if (failure === null) return result;
        if (isCommitted === undefined) throw fileError(failure, file, false);
        if (!(await statement(isCommitted))) throw failure;
        // Otherwise the next COMMIT would fail again to move the same WAL into the file.
        if (under !== undefined && isOutOfMemory(failure)) memory?.raise(under);
        return result;
      }),
    );

  return {
    file,
    query: (sql, params, row) => statement((on) => on.query(sql, params, row)),
    cells: (sql, params) => statement((on) => on.cells(sql, params)),
    integers: (sql, first, second) => statement((on) => on.integers(sql, first, second)),
    run: (sql, params) => writers(() => statement((on) => on.run(sql, params))),
    // All chunks are kept, because a repeated attempt needs them again.
    append: (table, types, chunks) => {
      const whole = [...chunks];
      return transaction((tx) => tx.append(table, types, whole));
    },
    transaction,
    flushWal: () => writers(() => statement(async (on) => void (await on.run("CHECKPOINT")))),
    offline: (work) => writers(() => open.offline(work)),
    close: (options) => writers(() => open.close(options?.keepsWal ?? false)),
  };
};
