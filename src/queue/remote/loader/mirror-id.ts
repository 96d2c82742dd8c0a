// Id of a mirror: a name for its data directory that fetchers on other machines can use. Generated once and kept
// beside the working database, so that it moves with it.
import { randomBytes } from "node:crypto";
import { open, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { assertOwnFile, makeOwnFolder } from "../../../core/own-files.ts";

const ID = /^[0-9a-f]{16}$/;

const read = async (path: string): Promise<string | null> => {
  assertOwnFile(path);
  const text = await readFile(path, "utf8").catch(() => "");
  return ID.test(text.trim()) ? text.trim() : null;
};

/** The id of the mirror in `dataDir`. Throws DATA_DIR_UNWRITABLE. */
export const mirrorIdOf = async (dataDir: string): Promise<string> => {
  const folder = join(dataDir, "state");
  const path = join(folder, "mirror-id");
  const known = await read(path);
  if (known !== null) return known;
  const id = randomBytes(8).toString("hex");
  const half = `${path}.${id}`;
  try {
    makeOwnFolder(folder);
    const file = await open(half, "wx", 0o600);
    await file.writeFile(`${id}\n`);
    await file.sync();
    await file.close();
    await rename(half, path);
  } catch (cause) {
    await unlink(half).catch(() => undefined);
    throw new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir: dataDir, detail: detailOf(cause) }, { cause });
  }
  // Another process may have written first; the stored id counts.
  return (await read(path)) ?? id;
};
