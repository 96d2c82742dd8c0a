// The one open instance of a database file: limits its memory, hands out connections, and opens the file again after
// failures that leave the instance unusable.
import { statSync } from "node:fs";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { interruptible } from "../../core/async/interrupts.ts";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { isFatal, isOutOfMemory } from "./duck-errors.ts";
import { createGate } from "./gate.ts";
import { abandonInstance, type DatabaseOptions, openInstance } from "./instance.ts";

// Memory limit of one open database. It starts low, so that DuckDB does not keep a large mirror in memory, and
// doubles up to the ceiling when work fails for lack of memory. Failed work is repeated, at last alone with one
// thread; only then does the caller get NO_MEMORY. See docs/decisions/memory.md.

/** Mode of an attempt. `alone`: no other work on this database runs, and DuckDB uses one thread. */
export type Effort = "usual" | "alone";

interface Memory {
  /** Present limit as DuckDB size text. */
  limitText(): string;
  /** True until some work has needed more than the first limit. */
  isFrugal(): boolean;
  /**
   * Raises the limit after a failure under `failedUnder`, unless it was raised meanwhile. Returns false at the
   * ceiling.
   */
  raise(failedUnder: string): boolean;
  /** Repeats `attempt` while it fails for lack of memory. Throws NO_MEMORY when the ceiling is too low. */
  goOn<T>(attempt: (effort: Effort) => Promise<T>): Promise<T>;
}

const text = (bytes: number) => `${bytes} bytes`;

/** Starts with the lowest limit of the plan. */
export const createMemory = ({ startBytes, ceilingBytes }: MemoryPlan): Memory => {
  let bytes = Math.min(startBytes, ceilingBytes);

  const raise = (failedUnder: string): boolean => {
    if (text(bytes) !== failedUnder) return true;
    if (bytes >= ceilingBytes) return false;
    bytes = Math.min(2 * bytes, ceilingBytes);
    return true;
  };

  const goOn = async <T>(attempt: (effort: Effort) => Promise<T>): Promise<T> => {
    for (let effort: Effort = "usual"; ; ) {
      const under = text(bytes);
      try {
        return await attempt(effort);
      } catch (error) {
        if (!isOutOfMemory(error)) throw error;
        if (raise(under)) continue;
        if (effort === "alone") {
          throw new DuckmirrorError("NO_MEMORY", { detail: detailOf(error) }, { cause: error });
        }
        effort = "alone";
      }
    }
  };

  return { limitText: () => text(bytes), isFrugal: () => bytes <= startBytes, raise, goOn };
};

export interface OpenFile {
  /** Runs `work` beside others, or alone with one thread; one thread remains until the file is opened again. */
  withConnection<T>(effort: Effort, work: (connection: DuckDBConnection) => Promise<T>): Promise<T>;
  /** Sets the memory limit again, which makes the allocators return freed memory to the system soon. */
  freeMemory(connection: DuckDBConnection): Promise<void>;
  /** The instance is unusable, as after a failed COMMIT: the next call opens the file again. The file is intact. */
  distrust(): void;
  /**
   * Closes the file cleanly and runs `work` while other calls wait; the next call opens the file again. Throws
   * WAREHOUSE_CORRUPT when another file is at the path.
   */
  offline<T>(work: () => Promise<T>): Promise<T>;
  /** `keepsWal`: leaves the WAL beside the file. */
  close(keepsWal: boolean): Promise<void>;
}

/**
 * Identity of the file at a path: device and inode. The file is not opened, because closing it would drop DuckDB's
 * lock.
 */
const identityOf = (file: string): string => {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? "none" : `${found.dev}/${found.ino}`;
};

/** The memory limit of an open instance. It is set after opening, because replaying a long WAL may need all memory. */
const createLimit = (memory: Memory | null) => {
  let limit = "";
  const set = (connection: DuckDBConnection, text: string) =>
    connection.run(`SET GLOBAL memory_limit = '${text}'`).then(() => undefined);
  return {
    /** A new instance has none yet. */
    reset: () => {
      limit = "";
    },
    apply: async (connection: DuckDBConnection): Promise<void> => {
      while (memory !== null && limit !== memory.limitText()) {
        const wanted = memory.limitText();
        try {
          await set(connection, wanted);
          limit = wanted;
        } catch (error) {
          // Memory already in use, such as the rows of a long WAL, may exceed the limit.
          if (!isOutOfMemory(error) || !memory.raise(wanted)) throw error;
        }
      }
    },
    again: async (connection: DuckDBConnection): Promise<void> => {
      if (memory?.isFrugal()) await set(connection, memory.limitText());
    },
  };
};

type Limit = ReturnType<typeof createLimit>;

/** A new instance of the file with its memory limited. */
const openLimited = async (file: string, options: DatabaseOptions, limit: Limit): Promise<DuckDBInstance> => {
  const opened = await openInstance(file, options);
  limit.reset();
  const connection = await opened.connect();
  try {
    await limit.apply(connection);
  } catch (error) {
    opened.closeSync();
    throw error;
  } finally {
    connection.closeSync();
  }
  return opened;
};

/** Checks that the path still holds the file that was open. If it is gone, DuckDB would create a new one. */
const checkIdentity = (file: string, identity: string): void => {
  if (identityOf(file) === identity) return;
  const detail = "it was removed or replaced while it was in use";
  throw new DuckmirrorError("WAREHOUSE_CORRUPT", { file, detail });
};

/** Runs `work` on a connection of its own. `distrust` is called after errors that leave the instance unusable. */
const onConnection = async <T>(
  instance: DuckDBInstance,
  limit: Limit,
  distrust: () => void,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> => {
  const connection = await instance.connect();
  try {
    await limit.apply(connection);
    return await work(connection);
  } catch (error) {
    if (isFatal(error) || isOutOfMemory(error)) distrust();
    throw error;
  } finally {
    connection.closeSync();
  }
};

/** Statements that only read end when the program is to end, or after their time. Those that write end by themselves. */
const endingInTime =
  <T>({ readOnly = false, statementMs }: DatabaseOptions, work: (connection: DuckDBConnection) => Promise<T>) =>
  (connection: DuckDBConnection): Promise<T> => {
    if (!readOnly) return work(connection);
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

/** Opens the file, creating it if need be. Throws DuckDB's own error when it cannot. */
export const openFileOf = async (file: string, options: DatabaseOptions, memory: Memory | null): Promise<OpenFile> => {
  const limit = createLimit(memory);
  let instance: DuckDBInstance | null = await openLimited(file, options, limit);
  let identity = identityOf(file);
  const gate = createGate();
  const isFile = file !== ":memory:";
  /** True after `offline`, and after failures that leave the instance unusable. */
  let reopen = false;

  const closeInstance = async () => {
    const closing = instance;
    instance = null;
    if (closing === null) return;
    if (reopen) await abandonInstance(closing);
    else closing.closeSync();
  };
  const openAgain = () =>
    gate.exclusive(async () => {
      if (!reopen) return;
      await closeInstance();
      checkIdentity(file, identity);
      instance = await openLimited(file, options, limit);
      reopen = false;
    });
  const distrust = () => {
    reopen = isFile;
  };
  const run = async <T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> => {
    if (instance === null) throw new TypeError(`${file} is closed`);
    return onConnection(instance, limit, distrust, endingInTime(options, work));
  };
  return {
    withConnection: async (effort, work) => {
      if (reopen) await openAgain();
      if (effort === "usual") return gate.shared(() => run(work));
      return gate.exclusive(() =>
        run(async (connection) => {
          await connection.run("SET GLOBAL threads = 1");
          return work(connection);
        }),
      );
    },
    freeMemory: limit.again,
    distrust,
    offline: (work) =>
      gate.exclusive(async () => {
        checkIdentity(file, identity);
        await closeInstance();
        reopen = true;
        try {
          return await work();
        } finally {
          identity = identityOf(file);
        }
      }),
    close: (keepsWal) =>
      gate.exclusive(async () => {
        reopen ||= keepsWal;
        await closeInstance();
        reopen = false;
      }),
  };
};
