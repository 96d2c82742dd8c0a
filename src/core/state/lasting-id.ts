// An id in a file of state/, made once: random, and kept beside the working database, so that it moves with it.
import { randomBytes } from "node:crypto";
import { link, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createDurably, makeOwnFolder, readOwnIfThere } from "../files/own-files.ts";
import { unwritable } from "./unwritable.ts";

/** File with the id of the mirror's history, which destinations keep (docs/decisions/destinations.md). */
export const HISTORY_ID = "history-id";

/** Null: there is none. Throws the system's error: an id that cannot be read for a moment must not be replaced. */
const read = async (path: string, bytes: number): Promise<string | null> => {
  const id = ((await readOwnIfThere(path)) ?? "").trim();
  return id.length === 2 * bytes && /^[0-9a-f]+$/.test(id) ? id : null;
};

/** The id in the file `name`, of `bytes` bytes; made if there is none. Throws DATA_DIR_UNWRITABLE, and the error of a file that cannot be read. */
export const lastingId = async (dataDir: string, name: string, bytes = 8): Promise<string> => {
  const folder = join(dataDir, "state");
  const path = join(folder, name);
  const known = await read(path, bytes);
  if (known !== null) return known;
  const id = randomBytes(bytes).toString("hex");
  const half = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    makeOwnFolder(folder);
    await createDurably(half, (file) => file.writeFile(`${id}\n`));
    // Another process may write at the same moment; the first one counts. A file that holds no id is replaced.
    await link(half, path).catch(() => undefined);
    const stored = await read(path, bytes);
    if (stored === null) await rename(half, path);
    else await unlink(half);
    return stored ?? id;
  } catch (cause) {
    await unlink(half).catch(() => undefined);
    throw unwritable(dataDir, cause);
  }
};
