// The published snapshot as the server reads it: opened once, opened anew after each publish, its figures kept with it.
// A publish renames a new file into place, so another inode means another snapshot (decision 0002).
import { statSync } from "node:fs";
import { DuckmirrorError, detailOf } from "../core/errors.ts";
import { type Database, openDatabase } from "../warehouse/database.ts";

/** One version of the mirror. Valid while the `use` that handed it out runs. */
export interface Snapshot {
  /** Another one for each publish. */
  readonly version: string;
  readonly path: string;
  readonly bytes: number;
  /** ms since the epoch. */
  readonly publishedAt: number;
  readonly query: Database["query"];
}

export interface SnapshotSource {
  readonly path: string;
  /** Which version stands on disk now; null: none yet. Opens nothing. */
  version(): string | null;
  /** Runs `work` on the present version. Throws SNAPSHOT_MISSING, QUERY_FAILED. */
  use<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T>;
  /** Closes it once its readers are done. */
  close(): Promise<void>;
}

/** One opened file and how many read it. */
interface Opened {
  readonly snapshot: Snapshot;
  readonly database: Database;
  readers: number;
  superseded: boolean;
}

/**
 * A figure that is computed once per version: a page over a million rows must not scan them for each reader.
 * A computation that failed is forgotten, so that the next reader tries again.
 */
export const perSnapshot = <T>(compute: (snapshot: Snapshot) => Promise<T>): ((snapshot: Snapshot) => Promise<T>) => {
  const kept = new WeakMap<Snapshot, Promise<T>>();
  return (snapshot) => {
    const known = kept.get(snapshot);
    if (known !== undefined) return known;
    const computing = compute(snapshot);
    kept.set(snapshot, computing);
    computing.catch(() => kept.delete(snapshot));
    return computing;
  };
};

const statOf = (path: string) => {
  const file = statSync(path, { throwIfNoEntry: false, bigint: true });
  return file?.isFile() ? { version: `${file.ino}-${file.mtimeNs}`, file } : null;
};

export const openSnapshots = (path: string): SnapshotSource => {
  let current: Opened | null = null;
  let opening: Promise<void> | null = null;
  let closed = false;

  const closeIfUnused = async (opened: Opened): Promise<void> => {
    if (opened.superseded && opened.readers === 0) await opened.database.close();
  };
  const supersede = async (): Promise<void> => {
    const old = current;
    current = null;
    if (old === null) return;
    old.superseded = true;
    await closeIfUnused(old);
  };
  const open = async (): Promise<void> => {
    // The file may be replaced between looking and opening: then the next request sees another version and opens anew.
    const found = statOf(path);
    if (found === null || closed) throw new DuckmirrorError("SNAPSHOT_MISSING", { file: path });
    const database = await openDatabase(path, { readOnly: true, lockedDown: true }).catch((cause: unknown) => {
      throw new DuckmirrorError("QUERY_FAILED", { detail: detailOf(cause) }, { cause });
    });
    await supersede();
    const { version, file } = found;
    const snapshot: Snapshot = {
      version,
      path,
      bytes: Number(file.size),
      publishedAt: Number(file.mtimeMs),
      query: (sql, params, row) => database.query(sql, params, row),
    };
    current = { snapshot, database, readers: 0, superseded: false };
  };
  /** The present version, with this reader counted before anything else can close it. */
  const acquire = async (): Promise<Opened> => {
    for (;;) {
      if (current !== null && current.snapshot.version === statOf(path)?.version) {
        current.readers += 1;
        return current;
      }
      opening ??= open().finally(() => {
        opening = null;
      });
      await opening;
    }
  };

  return {
    path,
    version: () => statOf(path)?.version ?? null,
    use: async (work) => {
      const opened = await acquire();
      try {
        return await work(opened.snapshot);
      } finally {
        opened.readers -= 1;
        await closeIfUnused(opened);
      }
    },
    close: async () => {
      closed = true;
      await opening?.catch(() => undefined);
      await supersede();
    },
  };
};
