// Replaces a file as a whole: a crash, a kill or a full disk leaves the old content or the new one, never a part.
import { type FileHandle, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { createDurably, flushToDisk } from "../../core/files/own-files.ts";
import { statementError } from "../duckdb/duck-errors.ts";

/**
 * Replaces a file atomically and durably by what `write` puts into the new one; only its owner can read it. Throws the
 * errors of `write`, and DISK_FULL.
 */
export const rewriteWith = async (file: string, write: (fresh: FileHandle) => Promise<void>): Promise<void> => {
  const fresh = `${file}.new`;
  try {
    // A file of that name was left by a crash, or planted; creating a new file follows no link.
    await rm(fresh, { force: true });
    await createDurably(fresh, write);
    await rename(fresh, file);
    await flushToDisk(dirname(file));
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => undefined);
    throw statementError(error);
  }
};

/** Replaces a file's content, as `rewriteWith`. */
export const replaceFile = (file: string, content: Buffer | string): Promise<void> =>
  rewriteWith(file, (fresh) => fresh.writeFile(content));
