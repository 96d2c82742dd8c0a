// Opens and closes one DuckDB instance with this program's settings (threads, storage version, no access to other files). database.ts uses
// it.
import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { type DuckDBConnection, DuckDBInstance, version } from "@duckdb/node-api";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { literal } from "../../core/text/sql-text.ts";
import { sqlText } from "./sql-files.ts";

export interface DatabaseOptions {
  readonly readOnly?: boolean;
  /** Time limit of a statement of a file that is only read, ms; default: none. */
  readonly statementMs?: number;
  /** Allows no other file, no extension and no change of settings. For a user's SQL. */
  readonly lockedDown?: boolean;
  /**
   * Absolute path of the only folder where files may be read and written, so a planted view cannot read elsewhere.
   */
  readonly onlyFolder?: string;
  /** Memory limits: small at first, more for work that needs it (database.ts). */
  readonly memory?: MemoryPlan;
  /** Without `memory`, a fixed limit: DuckDB size text, e.g. `2GB`; default: 80% of what the machine or container has. */
  readonly memoryLimit?: string;
  /** DuckDB's folder for spilled data; default: `<file>.tmp`. */
  readonly tempDir?: string;
  /** DuckDB size text; default `50GB`. */
  readonly maxTempSize?: string;
  /** Default: one for a small file, else as many as the machine has cores. */
  readonly threads?: number;
}

/** DuckDB divides work by groups of 122,880 rows. A smaller file seldom has a table with more than one group. */
const ONE_THREAD_BELOW_BYTES = 32 * 1024 * 1024;

/** Number of threads worth having for a file. One that has nothing to do polls, which costs processor time. */
export const threadsFor = (file: string): number => {
  const size = file === ":memory:" ? null : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  return size === null || size >= ONE_THREAD_BELOW_BYTES ? availableParallelism() : 1;
};

/** Snapshots open in every DuckDB from this version on. */
export const STORAGE_VERSION = "v1.2.0";

/** Forbids other files, extensions and changes of settings from now on; the time zone is UTC. */
export const lockDown = async (connection: DuckDBConnection): Promise<void> => {
  await connection.run(sqlText("warehouse/lock-down.sql"));
};

/** Opens the file with the full memory limit. Throws DuckDB's error. */
export const openInstance = async (file: string, options: DatabaseOptions): Promise<DuckDBInstance> => {
  const { memory } = options;
  const memoryLimit = memory === undefined ? options.memoryLimit : `${memory.ceilingBytes} bytes`;
  const instance = await DuckDBInstance.create(file, {
    access_mode: options.readOnly ? "READ_ONLY" : "AUTOMATIC",
    storage_compatibility_version: STORAGE_VERSION,
    threads: String(options.threads ?? threadsFor(file)),
    autoinstall_known_extensions: "false",
    max_temp_directory_size: options.maxTempSize ?? "50GB",
    ...(memoryLimit === undefined ? {} : { memory_limit: memoryLimit }),
    ...(options.tempDir === undefined ? {} : { temp_directory: options.tempDir }),
  });
  try {
    const connection = await instance.connect();
    await connection.run(sqlText("warehouse/settings.sql"));
    if (options.lockedDown) await lockDown(connection);
    if (options.onlyFolder !== undefined) {
      // SET does not accept a bound parameter.
      await connection.run(`SET GLOBAL allowed_directories = [${literal(options.onlyFolder)}]`);
      await connection.run(sqlText("warehouse/no-external-access.sql"));
    }
    connection.closeSync();
  } catch (error) {
    instance.closeSync();
    throw error;
  }
  return instance;
};

/**
 * Closes an instance whose memory may be wrong. Example: after a COMMIT that failed for lack of memory, a primary
 * key's index keeps entries of rows that were rolled back. The file and its WAL are not changed.
 */
export const abandonInstance = async (instance: DuckDBInstance): Promise<void> => {
  try {
    const connection = await instance.connect();
    await connection.run("PRAGMA disable_checkpoint_on_shutdown").finally(() => connection.closeSync());
  } catch {
    // After a fatal error the instance refuses everything and writes nothing.
  }
  instance.closeSync();
};

export const duckdbVersion = (): string => version();
