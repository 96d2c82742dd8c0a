// The lock of the one writer of a data directory, held from open to close, also while the working file is closed
// for publishing. It is an empty DuckDB database of its own: the kernel drops its lock with the process, so a killed
// process leaves nothing stale behind, whatever its process id or container was.
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DuckmirrorError } from "../../core/errors.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";

/** Held by this process: a second open in one process succeeds in DuckDB and loses rows. */
const held = new Set<string>();

export interface WriterLock {
  release(): Promise<void>;
}

/** Takes the lock. `dir`: the data directory, for the message. Throws WRITER_BUSY, or DuckDB's error. */
export const takeWriterLock = async (file: string, dir: string): Promise<WriterLock> => {
  const id = realpathSync(dirname(file));
  if (held.has(id)) throw new DuckmirrorError("WRITER_BUSY", { dir });
  held.add(id);
  let database: Database;
  try {
    database = await openDatabase(file, { threads: 1, memoryLimit: "32MB" });
  } catch (error) {
    held.delete(id);
    throw error;
  }
  return {
    release: async () => {
      await database.close();
      held.delete(id);
    },
  };
};
