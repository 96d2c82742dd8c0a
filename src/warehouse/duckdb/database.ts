// One DuckDB file, opened once: limits its memory, hands out connections, and opens the file again after failures that leave
// the instance unusable. Queries run concurrently, writers one after another, each on its own connection.
// Only src/warehouse imports DuckDB's client; the sandbox and the replica open their files through this module.
import { statSync } from "node:fs";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { interruptible } from "../../core/async/interrupts.ts";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { fileError, isFatal, isOutOfMemory } from "./duck-errors.ts";
import { createGate, createQueue, type Gate } from "./gate.ts";
import { abandonInstance, type DatabaseOptions, openInstance } from "./instance.ts";
import { type Appended, type Sql, statementsOn } from "./statements.ts";

// Memory limit of one open database. It starts low, so that DuckDB does not keep a large mirror in memory, and
// doubles up to the ceiling when work fails for lack of memory. Failed work is repeated, at last alone with one
// thread; only then does the caller get NO_MEMORY. See docs/decisions/memory.md.

/** Mode of an attempt. `alone`: no other work on this database runs, and DuckDB uses one thread. */
export type Effort = "usual" | "alone";

interface Memory {
  /** The present limit. */
  bytes: number;
  readonly plan: MemoryPlan;
}

/** Starts with the lowest limit of the plan. */
export const startMemory = (plan: MemoryPlan): Memory => ({
  bytes: Math.min(plan.startBytes, plan.ceilingBytes),
  plan,
});

/** Raises the limit after a failure under `under` bytes, unless it was raised meanwhile. Returns false at the ceiling. */
const raise = (memory: Memory, under: number): boolean => {
  if (memory.bytes !== under) return true;
  if (under >= memory.plan.ceilingBytes) return false;
  memory.bytes = Math.min(2 * under, memory.plan.ceilingBytes);
  return true;
};

/** Repeats `attempt` while it fails for lack of memory. Throws NO_MEMORY when the ceiling is too low. */
export const goOn = async <T>(memory: Memory, attempt: (effort: Effort) => Promise<T>): Promise<T> => {
  for (let effort: Effort = "usual"; ; ) {
    const under = memory.bytes;
    try {
      return await attempt(effort);
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      if (raise(memory, under)) continue;
      if (effort === "alone") {
        throw new DuckmirrorError("NO_MEMORY", { detail: detailOf(error) }, { cause: error });
      }
      effort = "alone";
    }
  }
};

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

/** The file and its one instance. */
interface OpenFile extends Appended {
  readonly file: string;
  readonly options: DatabaseOptions;
  readonly memory: Memory | null;
  readonly gate: Gate;
  /** null: closed. */
  instance: DuckDBInstance | null;
  /** Memory limit of the instance in bytes; 0: it is to be set. */
  limit: number;
  /** Identity of the file that the instance opened. */
  identity: string;
  /** The next call opens the file again: after `offline`, and after failures that leave the instance unusable. */
  reopen: boolean;
}

/**
 * Identity of the file at a path: device and inode. The file is not opened, because closing it would drop DuckDB's
 * lock.
 */
const identityOf = (file: string): string => {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? "none" : `${found.dev}/${found.ino}`;
};

/** Checks that the path still holds the file that was open. If it is gone, DuckDB would create a new one. */
const checkIdentity = ({ file, identity }: OpenFile): void => {
  if (identityOf(file) === identity) return;
  const detail = "it was removed or replaced while it was in use";
  throw new DuckmirrorError("WAREHOUSE_CORRUPT", { file, detail });
};

/** Gives the instance the present memory limit. */
const setLimit = async (open: OpenFile, connection: DuckDBConnection): Promise<void> => {
  const { memory } = open;
  while (memory !== null && open.limit !== memory.bytes) {
    const wanted = memory.bytes;
    try {
      await connection.run(`SET GLOBAL memory_limit = '${wanted} bytes'`);
      open.limit = wanted;
    } catch (error) {
      // Memory already in use, such as the rows of a long WAL, may exceed the limit.
      if (!isOutOfMemory(error) || !raise(memory, wanted)) throw error;
    }
  }
};

/** Opens an instance, and only then limits its memory, because replaying a long WAL may need all of it. */
const openLimited = async (open: OpenFile): Promise<void> => {
  const instance = await openInstance(open.file, open.options);
  open.limit = 0;
  const connection = await instance.connect();
  try {
    await setLimit(open, connection);
  } catch (error) {
    instance.closeSync();
    throw error;
  } finally {
    connection.closeSync();
  }
  open.instance = instance;
};

const closeInstance = async (open: OpenFile): Promise<void> => {
  const { instance } = open;
  open.instance = null;
  if (instance === null) return;
  if (open.reopen) await abandonInstance(instance);
  else instance.closeSync();
};

const openAgain = (open: OpenFile): Promise<void> =>
  open.gate.exclusive(async () => {
    if (!open.reopen) return;
    await closeInstance(open);
    checkIdentity(open);
    await openLimited(open);
    open.reopen = false;
  });

/** The instance is unusable: the next call opens the file again. The file is intact. */
const distrust = (open: OpenFile): void => {
  open.reopen = open.file !== ":memory:";
};

/** Statements that only read end when the program is to end, or after their time. Those that write end by themselves. */
const endingInTime = <T>(
  connection: DuckDBConnection,
  work: (connection: DuckDBConnection) => Promise<T>,
  statementMs: number | undefined,
): Promise<T> => {
  const running = async (isLate: () => boolean) => {
    try {
      return await work(connection);
    } catch (error) {
      if (!isLate()) throw error;
      const detail = `a statement of duckmirror took longer than ${(statementMs ?? 0) / 1000} seconds`;
      throw new DuckmirrorError("QUERY_LIMIT", { detail }, { cause: error });
    }
  };
  return interruptible(() => connection.interrupt(), running, statementMs);
};

/**
 * Runs `work` on a connection of its own, beside others, or alone with one thread; one thread remains until the file is
 * opened again.
 */
const onConnection = async <T>(
  open: OpenFile,
  effort: Effort,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> => {
  const run = async () => {
    const { readOnly, statementMs } = open.options;
    if (open.instance === null) throw new TypeError(`${open.file} is closed`);
    const connection = await open.instance.connect();
    try {
      await setLimit(open, connection);
      if (effort === "alone") await connection.run("SET GLOBAL threads = 1");
      return await (readOnly ? endingInTime(connection, work, statementMs) : work(connection));
    } catch (error) {
      if (isFatal(error) || isOutOfMemory(error)) distrust(open);
      throw error;
    } finally {
      connection.closeSync();
    }
  };
  if (open.reopen) await openAgain(open);
  return effort === "usual" ? open.gate.shared(run) : open.gate.exclusive(run);
};

/**
 * Runs `work` between BEGIN and COMMIT. `failure`: the error of the COMMIT, which may be durable nevertheless. Throws
 * the error of `work`.
 */
const attempt = async <T>(open: OpenFile, connection: DuckDBConnection, work: (tx: Sql) => Promise<T>) => {
  await connection.run("BEGIN TRANSACTION");
  let result: T;
  try {
    result = await work(statementsOn(connection, open));
  } catch (error) {
    // After a fatal error there is nothing to roll back.
    await connection.run("ROLLBACK").catch(() => undefined);
    throw error;
  }
  try {
    await connection.run("COMMIT");
    return { result, failure: null };
  } catch (failure) {
    distrust(open);
    // Usually DuckDB has rolled back already.
    await connection.run("ROLLBACK").catch(() => undefined);
    return { result, failure };
  }
};

/** Closes the file cleanly and runs `work` while other calls wait. */
const offline = <T>(open: OpenFile, work: () => Promise<T>): Promise<T> =>
  open.gate.exclusive(async () => {
    checkIdentity(open);
    await closeInstance(open);
    open.reopen = true;
    try {
      return await work();
    } finally {
      open.identity = identityOf(open.file);
    }
  });

/** An instance that is abandoned leaves its WAL beside the file. */
const close = (open: OpenFile, keepsWal: boolean): Promise<void> =>
  open.gate.exclusive(async () => {
    open.reopen ||= keepsWal;
    await closeInstance(open);
    open.reopen = false;
  });

/** Appended rows after which returning freed memory to the system is worth its 2 ms. */
const ROWS_WORTH_FREEING = 1_000;

/** While the limit is the lowest, sets it again, which makes the allocators return freed memory to the system soon. */
const freeMemory = (open: OpenFile): void => {
  const { memory } = open;
  if (memory !== null && memory.bytes <= memory.plan.startBytes) open.limit = 0;
  open.appendedRows = 0;
};

/**
 * Opens a DuckDB file, creating it if need be. One process must open a file for writing only once at a time.
 * Throws DuckDB's own error when it cannot (see duck-errors.ts, `openError`).
 */
export const openDatabase = async (file: string, options: DatabaseOptions = {}): Promise<Database> => {
  const memory = options.memory === undefined ? null : startMemory(options.memory);
  const gate = createGate();
  const closed = { instance: null, limit: 0, identity: "none", reopen: false, appendedRows: 0 };
  const open: OpenFile = { file, options, memory, gate, ...closed };
  await openLimited(open);
  open.identity = identityOf(file);
  const writers = createQueue();

  /** Repeats the work until memory suffices, and translates errors for the caller. */
  const persistently = async <T>(work: (effort: Effort) => Promise<T>): Promise<T> => {
    try {
      return await (memory === null ? work("usual") : goOn(memory, work));
    } catch (error) {
      throw fileError(error, file, options.readOnly === true);
    }
  };
  const statement = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    persistently((effort) => onConnection(open, effort, (connection) => work(statementsOn(connection, open))));

  const transaction = <T>(work: (tx: Sql) => Promise<T>, { isCommitted }: TransactionOptions = {}): Promise<T> => {
    const once = async (effort: Effort): Promise<T> => {
      const under = memory?.bytes ?? 0;
      if (open.appendedRows >= ROWS_WORTH_FREEING) freeMemory(open);
      const { result, failure } = await onConnection(open, effort, (connection) => attempt(open, connection, work));
      if (failure === null) return result;
      if (isCommitted === undefined) throw fileError(failure, file, false);
      if (!(await statement(isCommitted))) throw failure;
      // Otherwise the next COMMIT would fail again to move the same WAL into the file.
      if (memory !== null && isOutOfMemory(failure)) raise(memory, under);
      return result;
    };
    return writers(() => persistently(once));
  };

  return {
    file,
    query: (sql, params, row) => statement((on) => on.query(sql, params, row)),
    cells: (sql, params) => statement((on) => on.cells(sql, params)),
    integers: (sql, first, second) => statement((on) => on.integers(sql, first, second)),
    run: (sql, params) => writers(() => statement((on) => on.run(sql, params))),
    append: (table, types, rows) => transaction((tx) => tx.append(table, types, rows)),
    transaction,
    flushWal: () => writers(() => statement(async (on) => void (await on.run("CHECKPOINT")))),
    offline: (work) => writers(() => offline(open, work)),
    close: (options) => writers(() => close(open, options?.keepsWal ?? false)),
  };
};
