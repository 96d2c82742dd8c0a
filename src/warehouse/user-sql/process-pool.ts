// Pool of processes for users' SQL: each runs one statement on one snapshot and then ends; one process waits, started already, for the next
// statement.
import { statSync } from "node:fs";
import { DuckmirrorError, isCode } from "../../core/errors.ts";
import type { ProcessLimits } from "./process-limits.ts";
import { type SqlProcess, startSqlProcess } from "./sql-process.ts";

export interface ProcessPool {
  /** A ready process for the snapshot. `hold` gets each process that is tried. Throws USER_SQL_NO_BOX, QUERY_LIMIT. */
  take(snapshot: string, hold: (sqlProcess: SqlProcess) => void): Promise<SqlProcess>;
  /** Whether the process was fenced for the file that the snapshot is now. */
  isFor(sqlProcess: SqlProcess, snapshot: string): boolean;
  close(): Promise<void>;
}

export interface PoolOptions {
  readonly spare: boolean;
  readonly onCrash: () => void;
  readonly mayDoWithoutFence: boolean;
  /** Whether the processes may read the file's WAL. */
  readonly withWal?: boolean;
}

/** Ends the process and waits until it is gone. */
export const endOf = async (sqlProcess: SqlProcess): Promise<void> => {
  sqlProcess.end(new DuckmirrorError("INTERRUPTED"));
  await sqlProcess.gone;
};

const identityOf = (snapshot: string): string => {
  const found = statSync(snapshot, { throwIfNoEntry: false, bigint: true });
  return `${snapshot}:${found?.dev}:${found?.ino}`;
};

const isNoBox = (error: unknown) => isCode(error, "USER_SQL_NO_BOX");

export const createProcessPool = (limits: ProcessLimits, options: PoolOptions): ProcessPool => {
  const { onCrash, withWal = false } = options;
  const identities = new WeakMap<SqlProcess, string>();
  let waiting: SqlProcess | null = null;
  let closed = false;
  let fenced = true;
  const start = (snapshot: string): SqlProcess => {
    // Before the start: if a publish comes between, the process counts as one for the older file.
    const identity = identityOf(snapshot);
    const sqlProcess = startSqlProcess(limits, { snapshot, fenced, withWal, onCrash });
    identities.set(sqlProcess, identity);
    return sqlProcess;
  };
  const isFor = (sqlProcess: SqlProcess, snapshot: string) => identities.get(sqlProcess) === identityOf(snapshot);
  const waitingFor = (snapshot: string): SqlProcess => {
    const found = waiting;
    waiting = null;
    // One that the system ended while it waited would be blamed on this statement.
    if (found !== null && isFor(found, snapshot) && !found.isOver()) return found;
    found?.end(new DuckmirrorError("INTERRUPTED"));
    return start(snapshot);
  };
  return {
    isFor,
    take: async (snapshot, hold) => {
      const sqlProcess = waitingFor(snapshot);
      hold(sqlProcess);
      try {
        await sqlProcess.ready;
        // Two that are taken at once start one: the other would run for ever, and keep the server from ending.
        if (options.spare && !closed) waiting ??= start(snapshot);
        return sqlProcess;
      } catch (error) {
        if (!fenced || !options.mayDoWithoutFence || !isNoBox(error)) throw error;
      }
      fenced = false;
      const without = start(snapshot);
      hold(without);
      await without.ready;
      return without;
    },
    close: async () => {
      closed = true;
      const last = waiting;
      waiting = null;
      if (last !== null) await endOf(last);
    },
  };
};

export interface Box {
  readonly level: "landlock" | "none";
  /** Why there is none. */
  readonly because: string | null;
}

/** What this system offers: tried, not guessed. */
export const offeredBox = async (): Promise<Box> => {
  const sqlProcess = startSqlProcess(
    { memoryMiB: 64, timeMs: 60_000 },
    { snapshot: null, fenced: true, onCrash: () => {} },
  );
  try {
    await sqlProcess.ready;
    return { level: "landlock", because: null };
  } catch (error) {
    return { level: "none", because: error instanceof Error ? error.message : String(error) };
  } finally {
    await endOf(sqlProcess);
  }
};
