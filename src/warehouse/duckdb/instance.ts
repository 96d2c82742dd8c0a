// One instance of DuckDB: how it is opened, and how it is given up.
import { availableParallelism } from "node:os";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { literal } from "../../core/sql-text.ts";
import { sqlText } from "./sql-files.ts";

export interface DatabaseOptions {
  readonly readOnly?: boolean;
  /** No other file, no extension, no change of settings: for SQL that a user wrote. */
  readonly lockedDown?: boolean;
  /** Files are read and written in this folder only, absolute: a view that somebody planted reads nothing else. */
  readonly onlyFolder?: string;
  /** Little memory at first, and more for work that needs it (memory.ts). */
  readonly memory?: MemoryPlan;
  /** Without `memory`, a fixed limit: DuckDB size text, e.g. `2GB`; default: 80% of what the machine or container has. */
  readonly memoryLimit?: string;
  /** Where DuckDB spills to; default: `<file>.tmp`. */
  readonly tempDir?: string;
  /** DuckDB size text; default `50GB`. */
  readonly maxTempSize?: string;
  readonly threads?: number;
}

/** Snapshots open in every DuckDB from this version on. */
export const STORAGE_VERSION = "v1.2.0";

/** From here on the instance reads no other file, loads no extension, and its settings stay; zone UTC. */
export const lockDown = async (connection: DuckDBConnection): Promise<void> => {
  await connection.run(sqlText("warehouse/lock-down.sql"));
};

/** Opens the file with all the memory it may take. Throws DuckDB's error. */
export const openInstance = async (file: string, options: DatabaseOptions): Promise<DuckDBInstance> => {
  const { memory } = options;
  const memoryLimit = memory === undefined ? options.memoryLimit : `${memory.ceilingBytes} bytes`;
  const instance = await DuckDBInstance.create(file, {
    access_mode: options.readOnly ? "READ_ONLY" : "AUTOMATIC",
    storage_compatibility_version: STORAGE_VERSION,
    threads: String(options.threads ?? availableParallelism()),
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
      // SET takes no bound value.
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
 * Closes an instance whose memory can no longer be trusted: after a COMMIT that failed for want of memory, for instance, a
 * primary key's index keeps entries of rows that were rolled back. Only the file and its WAL count, and they stay as they are.
 */
export const abandonInstance = async (instance: DuckDBInstance): Promise<void> => {
  try {
    const connection = await instance.connect();
    await connection.run("PRAGMA disable_checkpoint_on_shutdown").finally(() => connection.closeSync());
  } catch {
    // After a fatal error it refuses everything, and writes nothing either.
  }
  instance.closeSync();
};
