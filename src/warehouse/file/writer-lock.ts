// The lock of a data directory's single writer, held from open to close, including while the working file is closed
// for publishing. The lock is an empty DuckDB database: the kernel releases its file lock when the process ends, so a
// killed process leaves no stale lock.
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DuckmirrorError } from "../../core/errors.ts";
import { assertOwnFile } from "../../core/files/own-files.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";

/** Locks of this process. DuckDB allows a second open in the same process, which loses rows. */
const held = new Set<string>();

export interface WriterLock {
  release(): Promise<void>;
}

/** Takes the lock. `dir`: the data directory, for the message. Throws WRITER_BUSY, DATA_DIR_UNWRITABLE, or DuckDB's error. */
export const takeWriterLock = async (file: string, dir: string): Promise<WriterLock> => {
  // DuckDB follows links in place of these, and waits for a pipe.
  for (const own of [file, `${file}.wal`]) assertOwnFile(own);
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
