// A data directory whose `state/` is gone: the mirror goes on from its snapshot, as after a restore. A new mirror would be
// published over the snapshot, and every row paid for again.
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { isCode } from "../../../core/errors.ts";
import { listOwn } from "../../../core/files/own-files.ts";
import { assertForeignCatalog } from "../../user-sql/own-snapshot.ts";
import { copyDurably, makeBaseline, readThrough } from "./baseline.ts";

/** Of a data directory. */
interface Paths {
  readonly state: string;
  readonly archiveDir: string;
  readonly snapshot: string;
  readonly working: string;
}

/** Throws CATALOG_REFUSED. */
const isWhole = async (snapshot: string): Promise<boolean> => {
  try {
    await assertForeignCatalog(snapshot);
    await readThrough(snapshot);
    return true;
  } catch (error) {
    if (isCode(error, "CATALOG_REFUSED")) throw error;
    return false;
  }
};

/**
 * Makes the snapshot the working file, if there is none, and nothing that `replay` could build it from. Returns whether it
 * did. A snapshot that cannot be read has nothing to go on from. The caller holds the writer's lock. Throws CATALOG_REFUSED, DISK_FULL.
 */
export const adoptSnapshot = async ({ state, archiveDir, snapshot, working }: Paths, now: number): Promise<boolean> => {
  if (existsSync(working) || existsSync(`${working}.wal`) || !existsSync(snapshot)) return false;
  if ((await listOwn(archiveDir)).length > 0 || !(await isWhole(snapshot))) return false;
  // First, so that the working file is never without what it came from.
  await makeBaseline(state, snapshot, now);
  const fresh = `${working}.new`;
  await rm(fresh, { force: true });
  await copyDurably(snapshot, fresh);
  await rename(fresh, working);
  return true;
};
