// One DuckDB file, opened once. Queries run concurrently, writers one after another, each on its own connection.
// Only src/warehouse imports DuckDB's client; the sandbox and the replica open their files through this module.
import { statSync } from "node:fs";
import type { DuckDBConnection, DuckDBInstance, DuckDBType } from "@duckdb/node-api";
import { z } from "zod";
import { DuckmirrorError } from "../../core/errors.ts";
import { appendChunks, type ColumnChunk } from "./append.ts";
import { fileError, isFatal, isOutOfMemory } from "./duck-errors.ts";
import { fromDuck, type OutValue, type SqlValue, toDuck } from "./duck-values.ts";
import { createGate, createQueue } from "./gate.ts";
import { abandonInstance, type DatabaseOptions, openInstance } from "./instance.ts";
import { createMemory, type Effort } from "./memory.ts";

/** Statements inside one transaction, or each on its own. */
export interface Sql {
  /**
   * Rows of a statement, each parsed by `row` (column name → value). BIGINT comes as number while exact, else bigint;
   * TIMESTAMPTZ as ms since the epoch whose fraction holds the microseconds; VARCHAR[] as array; JSON as text.
   */
  query<T>(sql: string, params: readonly SqlValue[], row: z.ZodType<T>): Promise<T[]>;
  /** Runs one statement, or several if there are no parameters. Returns the number of changed rows. */
  run(sql: string, params?: readonly SqlValue[]): Promise<number>;
  /** Appends chunks whose columns are the table's columns, in order. */
  append(table: string, types: readonly DuckDBType[], chunks: Iterable<ColumnChunk>): Promise<void>;
}

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
  close(): Promise<void>;
}

/**
 * Identity of the file at a path: device and inode. The file is not opened, because closing it would drop DuckDB's
 * lock.
 */
const identityOf = (file: string): string => {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? "none" : `${found.dev}/${found.ino}`;
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

/** Statements on one connection; the caller owns the connection. `onAppend` hears how many rows were appended. */
const statementsOn = (connection: DuckDBConnection, onAppend: (rows: number) => void): Sql => ({
  async query(sql, params, row) {
    const result = params.length === 0 ? await connection.run(sql) : await runPrepared(connection, sql, params);
    const names = result.deduplicatedColumnNames();
    const rows = await result.getRows();
    const objects = rows.map((cells): Record<string, OutValue> => {
      const pairs = cells.map((cell, index) => [names[index] ?? "", fromDuck(cell, "ms")] as const);
      return Object.fromEntries(pairs);
    });
    return z.array(row).parse(objects);
  },
  async run(sql, params = []) {
    if (params.length === 0) return (await connection.run(sql)).rowsChanged;
    return (await runPrepared(connection, sql, params)).rowsChanged;
  },
  append: async (table, types, chunks) => onAppend(await appendChunks(connection, table, types, chunks)),
});

/** Appended rows after which setting the memory limit again is worth its 2 ms. */
const ROWS_WORTH_FREEING = 1_000;

const limitMemory = (connection: DuckDBConnection, limit: string) =>
  connection.run(`SET GLOBAL memory_limit = '${limit}'`);

/**
 * Opens a DuckDB file, creating it if need be. One process must open a file for writing only once at a time.
 * Throws DuckDB's own error when it cannot (see duck-errors.ts, `openError`).
 */
export const openDatabase = async (file: string, options: DatabaseOptions = {}): Promise<Database> => {
  const memory = options.memory === undefined ? null : createMemory(options.memory);
  /** Memory limit of the open instance. */
  let limit = "";
  const applyLimit = async (connection: DuckDBConnection) => {
    while (memory !== null && limit !== memory.limitText()) {
      const wanted = memory.limitText();
      try {
        await limitMemory(connection, wanted);
        limit = wanted;
      } catch (error) {
        // Memory already in use, such as the rows of a long WAL, may exceed the limit.
        if (!isOutOfMemory(error) || !memory.raise(wanted)) throw error;
      }
    }
  };
  const openFile = async (): Promise<DuckDBInstance> => {
    const opened = await openInstance(file, options);
    limit = "";
    // The limit is set after opening, because DuckDB replays a long WAL while it opens and may need all memory for
    // it.
    const connection = await opened.connect();
    try {
      await applyLimit(connection);
    } catch (error) {
      opened.closeSync();
      throw error;
    } finally {
      connection.closeSync();
    }
    return opened;
  };
  let instance: DuckDBInstance | null = await openFile();
  let identity = identityOf(file);
  /** Rows appended since memory was last returned to the system. */
  let appended = 0;
  const statements = (connection: DuckDBConnection) =>
    statementsOn(connection, (rows) => {
      appended += rows;
    });
  const gate = createGate();
  const writers = createQueue();
  const isFile = file !== ":memory:";
  /**
   * True after `offline`, and after failures that leave the instance unusable: a fatal error, a failed COMMIT, lack
   * of memory. The file itself is intact.
   */
  let reopen = false;

  const closeInstance = async () => {
    const closing = instance;
    instance = null;
    if (closing === null) return;
    if (reopen) await abandonInstance(closing);
    else closing.closeSync();
  };
  /** Checks that the path still holds the file that was open. If it is gone, DuckDB would create a new one. */
  const checkIdentity = () => {
    if (identityOf(file) === identity) return;
    const detail = "it was removed or replaced while it was in use";
    throw new DuckmirrorError("WAREHOUSE_CORRUPT", { file, detail });
  };
  const openAgain = () =>
    gate.exclusive(async () => {
      if (!reopen) return;
      await closeInstance();
      checkIdentity();
      instance = await openFile();
      reopen = false;
    });
  const onConnection = async <T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> => {
    if (instance === null) throw new TypeError(`${file} is closed`);
    const connection = await instance.connect();
    try {
      await applyLimit(connection);
      return await work(connection);
    } catch (error) {
      if (isFatal(error) || isOutOfMemory(error)) reopen = isFile;
      throw error;
    } finally {
      connection.closeSync();
    }
  };
  /** Runs `work` beside others, or alone with one thread; one thread remains until the file is opened again. */
  const withConnection = async <T>(effort: Effort, work: (connection: DuckDBConnection) => Promise<T>): Promise<T> => {
    if (reopen) await openAgain();
    if (effort === "usual") return gate.shared(() => onConnection(work));
    return gate.exclusive(() =>
      onConnection(async (connection) => {
        await connection.run("SET GLOBAL threads = 1");
        return work(connection);
      }),
    );
  };
  /** Repeats the attempt until memory suffices, and translates errors for the caller. */
  const persistently = async <T>(attempt: (effort: Effort) => Promise<T>): Promise<T> => {
    try {
      return await (memory === null ? attempt("usual") : memory.goOn(attempt));
    } catch (error) {
      throw fileError(error, file, options.readOnly === true);
    }
  };
  const statement = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    persistently((effort) => withConnection(effort, (connection) => work(statements(connection))));

  const inTransaction = async <T>(connection: DuckDBConnection, work: (tx: Sql) => Promise<T>) => {
    // Setting the limit again makes the allocators return freed memory to the system soon.
    if (memory?.isFrugal() && appended >= ROWS_WORTH_FREEING) {
      await limitMemory(connection, memory.limitText());
      appended = 0;
    }
    await connection.run("BEGIN TRANSACTION");
    let result: T;
    try {
      result = await work(statements(connection));
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
      reopen = isFile;
      return { result, failure };
    }
  };
  const transaction = <T>(work: (tx: Sql) => Promise<T>, { isCommitted }: TransactionOptions = {}): Promise<T> =>
    writers(() =>
      persistently(async (effort) => {
        const under = memory?.limitText();
        const { result, failure } = await withConnection(effort, (connection) => inTransaction(connection, work));
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
    run: (sql, params) => writers(() => statement((on) => on.run(sql, params))),
    // All chunks are kept, because a repeated attempt needs them again.
    append: (table, types, chunks) => {
      const whole = [...chunks];
      return transaction((tx) => tx.append(table, types, whole));
    },
    transaction,
    flushWal: () => writers(() => statement(async (on) => void (await on.run("CHECKPOINT")))),
    offline: (work) =>
      writers(() =>
        gate.exclusive(async () => {
          checkIdentity();
          await closeInstance();
          reopen = true;
          try {
            return await work();
          } finally {
            identity = identityOf(file);
          }
        }),
      ),
    close: () =>
      writers(() =>
        gate.exclusive(async () => {
          await closeInstance();
          reopen = false;
        }),
      ),
  };
};
