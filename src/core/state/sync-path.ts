// Makes what was written durable: it is there after a loss of power.
import { open } from "node:fs/promises";

/** Syncs a file, or the entries of a folder, to disk. Throws the system's error. */
export const syncPath = async (path: string): Promise<void> => {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
