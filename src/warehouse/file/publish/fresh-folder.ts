// A folder beside the working file for its successor: its name cannot be guessed, so nobody can plant a link in the file's
// place, which DuckDB would follow.
import { mkdtemp, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { listOwn } from "../../../core/files/own-files.ts";

const PREFIX = "new-";

/** True for the name of such a folder. */
export const isFreshFolder = (name: string): boolean => name.startsWith(PREFIX);

/** `work` with the path of the successor of `file`; what `work` leaves there is removed. */
export const besides = async <T>(file: string, work: (fresh: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(dirname(file), PREFIX));
  try {
    return await work(join(folder, basename(file)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Removes the folders that killed processes left. The caller holds the writer's lock. */
export const removeFreshFolders = async (file: string): Promise<void> => {
  const folder = dirname(file);
  for (const name of await listOwn(folder)) {
    if (isFreshFolder(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
};
