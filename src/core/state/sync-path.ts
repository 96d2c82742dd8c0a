// Makes what was written durable: it is there after a loss of power.
import { type FileHandle, open } from "node:fs/promises";

/** Syncs a file, or the entries of a folder, to disk. Throws the system's error. */
export const syncPath = async (path: string): Promise<void> => {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/**
 * Creates a file that only its owner can read, fills it by `write`, and syncs it to disk. Throws the system's error, also
 * where the name exists or is a link.
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
