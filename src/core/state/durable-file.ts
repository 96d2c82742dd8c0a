// Makes files and folders durable: what was written survives a loss of power.
import { type FileHandle, open } from "node:fs/promises";

/** Flushes a file, or the entries of a folder, to disk. Throws the system's error. */
export const flushToDisk = async (path: string): Promise<void> => {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/**
 * Creates a file that only its owner can read, fills it by `write`, and flushes it to disk. Throws the system's error, also
 * if the name exists or is a link.
 */
export const createDurably = async (path: string, write: (file: FileHandle) => Promise<void>): Promise<void> => {
  const handle = await open(path, "wx", 0o600);
  try {
    await write(handle);
    await handle.sync();
  } finally {
    await handle.close();
  }
};
