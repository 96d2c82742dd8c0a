// One DuckDB file, opened once: queries beside each other, writers one after the other, each on its own connection.
// Nothing outside src/warehouse imports DuckDB's client; the sandbox and the replica open their files with this too.
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
  /** Runs a statement (or several, without parameters). Answers with the number of rows it changed. */
  run(sql: string, params?: readonly SqlValue[]): Promise<number>;
  /** Appends column-wise to a table; the chunks' columns are the table's, in order. */
  append(table: string, types: readonly DuckDBType[], chunks: Iterable<ColumnChunk>): Promise<void>;
}

export interface TransactionOptions {
  /**
   * Asked after a COMMIT that failed, since that may be durable all the same: whether the file holds the transaction's
   * changes. Without it no transaction is done again after its COMMIT.
   */
  readonly isCommitted?: (sql: Sql) => Promise<boolean>;
}

export interface Database extends Sql {
  readonly file: string;
  /**
   * Runs `work` in one transaction on its own connection, after all earlier writers; any throw rolls back. With `memory`
   * it may run several times, each but the last rolled back.
   */
  transaction<T>(work: (tx: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Closes the file cleanly (no WAL is left) and runs `work`; other calls wait meanwhile, and the next one opens the file
   * again. Must not be called inside `transaction`. Throws WAREHOUSE_CORRUPT, and does nothing, when another file or none
   * lies at the path by now: what is open here is not what would be copied or opened again.
   */
  offline<T>(work: () => Promise<T>): Promise<T>;
  /** Moves everything from the WAL into the file. */
  flushWal(): Promise<void>;
  close(): Promise<void>;
}

/** Which file lies at a path: by its own number, not by its name. It is not opened: that would drop DuckDB's lock. */
const identityOf = (file: string): string => {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? "none" : `${found.dev}/${found.ino}`;
};

const bind = (params: readonly SqlValue[]) => {
  const bound = params.map(toDuck);
  return { values: bound.map(({ value }) => value), types: bound.map(({ type }) => type) };
};

/** Statements on one connection; the caller owns the connection. */
const statementsOn = (connection: DuckDBConnection): Sql => ({
  async query(sql, params, row) {
    const { values, types } = bind(params);
    const result = await connection.run(sql, values, types);
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
    const { values, types } = bind(params);
    return (await connection.run(sql, values, types)).rowsChanged;
  },
  append: (table, types, chunks) => appendChunks(connection, table, types, chunks),
});

const limitMemory = (connection: DuckDBConnection, limit: string) =>
  connection.run(`SET GLOBAL memory_limit = '${limit}'`);

/**
 * Opens a DuckDB file, creating it if need be. One process must open a file for writing only once at a time.
 * Throws DuckDB's own error when it cannot (see duck-errors.ts, `openError`).
 */
export const openDatabase = async (file: string, options: DatabaseOptions = {}): Promise<Database> => {
  const memory = options.memory === undefined ? null : createMemory(options.memory);
  /** What the open instance is held to. */
  let limit = "";
  const applyLimit = async (connection: DuckDBConnection) => {
    while (memory !== null && limit !== memory.limitText()) {
      const wanted = memory.limitText();
      try {
        await limitMemory(connection, wanted);
        limit = wanted;
      } catch (error) {
        // What lies in memory already, such as the rows of a long WAL, may need more.
        if (!isOutOfMemory(error) || !memory.raise(wanted)) throw error;
      }
    }
  };
  const openFile = async (): Promise<DuckDBInstance> => {
    const opened = await openInstance(file, options);
    limit = "";
    // Not earlier: a long WAL is carried out while the file is opened, with all the memory there may be.
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
  const gate = createGate();
  const writers = createQueue();
  const isFile = file !== ":memory:";
  /**
   * Set after `offline`, and after failures that leave an instance nobody can trust: a fatal error, a failed COMMIT, want
   * of memory. The file is intact.
   */
  let reopen = false;

  const closeInstance = async () => {
    const closing = instance;
    instance = null;
    if (closing === null) return;
    if (reopen) await abandonInstance(closing);
    else closing.closeSync();
  };
  /** What lies at the path must be what was open here: DuckDB would make a new file where there is none. */
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
  /** Runs `work` beside others, or alone and with one thread, at which it stays until the file is opened again. */
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
  /** Attempts until memory suffices; failures as the caller should read them. */
  const persistently = async <T>(attempt: (effort: Effort) => Promise<T>): Promise<T> => {
    try {
      return await (memory === null ? attempt("usual") : memory.goOn(attempt));
    } catch (error) {
      throw fileError(error, file, options.readOnly === true);
    }
  };
  const statement = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    persistently((effort) => withConnection(effort, (connection) => work(statementsOn(connection))));

  const inTransaction = async <T>(connection: DuckDBConnection, work: (tx: Sql) => Promise<T>) => {
    // Setting a limit anew makes the allocators give what was freed back to the system; they would keep it for long.
    if (memory?.isFrugal()) await limitMemory(connection, memory.limitText());
    await connection.run("BEGIN TRANSACTION");
    let result: T;
    try {
      result = await work(statementsOn(connection));
    } catch (error) {
      // A fatal error leaves nothing to roll back.
      await connection.run("ROLLBACK").catch(() => undefined);
      throw error;
    }
    try {
      await connection.run("COMMIT");
      return { result, failure: null };
    } catch (failure) {
      // Mostly it has rolled back already.
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
        // The next COMMIT would fail to move the same WAL into the file.
        if (under !== undefined && isOutOfMemory(failure)) memory?.raise(under);
        return result;
      }),
    );

  return {
    file,
    query: (sql, params, row) => statement((on) => on.query(sql, params, row)),
    run: (sql, params) => writers(() => statement((on) => on.run(sql, params))),
    // Held in one piece: what is done again must find the chunks again.
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
