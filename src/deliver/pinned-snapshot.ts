// A second name for the published snapshot, so that a delivery reads one snapshot to its end, whatever is published
// meanwhile.
import { link, mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { DELIVERING } from "../core/data-dir.ts";
import { copyOwn, listOwn, makeOwnFolder } from "../core/files/own-files.ts";
import { assertOwnCatalog } from "../warehouse/user-sql/own-snapshot.ts";
import { assertReadable } from "../warehouse/user-sql/readable.ts";

/** Names older than this were left by killed deliveries, ms. */
const LEFT_AFTER_MS = 24 * 3_600_000;

export interface PinnedSnapshot {
  /** Absolute path. */
  readonly path: string;
  release(): Promise<void>;
}

const removeLeft = async (folder: string, now: number): Promise<void> => {
  for (const name of await listOwn(folder)) {
    const made = await stat(join(folder, name)).catch(() => null);
    if (made !== null && made.mtimeMs < now - LEFT_AFTER_MS)
      await rm(join(folder, name), { recursive: true, force: true });
  }
};

/**
 * Pins the snapshot; the file system gives it a second name, or a copy where it has no such names. Throws
 * SNAPSHOT_MISSING.
 */
export const pinSnapshot = async (dataDir: string, snapshot: string, now: number): Promise<PinnedSnapshot> => {
  assertReadable(snapshot);
  await assertOwnCatalog(snapshot);
  const folder = join(dataDir, "state", DELIVERING);
  makeOwnFolder(folder);
  await removeLeft(folder, now);
  const own = await mkdtemp(join(folder, "d-"));
  const path = join(own, "warehouse.duckdb");
  const release = () => rm(own, { recursive: true, force: true });
  try {
    await link(snapshot, path).catch(() => copyOwn(snapshot, path));
  } catch (error) {
    await release();
    throw error;
  }
  return { path, release };
};
