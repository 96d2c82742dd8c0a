// Keeps the published snapshot open for the server, with its computed figures, and opens it again after each publish. A publish renames a
// new file into place, so that another inode means another snapshot (docs/decisions/publishing.md).
import { AsyncLocalStorage } from "node:async_hooks";
import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { type Database, openDatabase } from "../../warehouse/duckdb/database.ts";
import { createFairLanes } from "../../warehouse/duckdb/gate.ts";
import { type Look, looksFile, looksSince } from "../../warehouse/read/looks.ts";
import { assertOwnSnapshot } from "../../warehouse/user-sql/trusted-files.ts";

/** One version of the mirror. Valid during the `use` call that provided it. */
export interface Snapshot {
  /** Different for each publish and each look. */
  readonly version: string;
  readonly path: string;
  readonly bytes: number;
  /** Date of the file, ms since the epoch: a copy has another one. */
  readonly modifiedAt: number;
  /** Syncs since then that found nothing new, oldest first. */
  readonly looks: readonly Look[];
  readonly query: Database["query"];
  readonly cells: Database["cells"];
  readonly integers: Database["integers"];
}

/** Who asks: a key or a network; statements of different askers take turns. */
export const asking = new AsyncLocalStorage<string>();

export interface SnapshotSource {
  readonly path: string;
  /** The version on disk; null: none yet. Opens nothing. */
  version(): string | null;
  /** Runs `work` on the present version. Throws SNAPSHOT_MISSING, QUERY_FAILED. */
  use<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T>;
  /** Closes it once its readers are done. */
  close(): Promise<void>;
}

/**
 * One version of the file and the number of its readers. Its database is open while it has readers, and for a while
 * after.
 */
interface Version {
  readonly snapshot: Snapshot;
  database: Promise<Database> | null;
  readers: number;
  superseded: boolean;
  idle: ReturnType<typeof setTimeout> | null;
}

/** Time without readers after which a mirror's memory is released, ms; computed figures stay. */
const IDLE_MS = 60_000;
const MEMORY_LIMIT = "1GB";
/** Statements at once; a thousand of them took 800 MB and no less time. */
const MOST_AT_ONCE = 8;
/** Of one key or, without keys, of one network: its statements leave processors to others. */
const MOST_OF_ONE = Math.min(MOST_AT_ONCE, Math.max(2, Math.ceil(availableParallelism() / 2)));
/** Far more than a statement of a request needs. */
const MOST_STATEMENT_MS = 60_000;
/** Limit of files spilled beside the snapshot: readers must not fill the disk that the writer needs. */
const MOST_SPILLED = "1GB";

/**
 * Computes a figure once per version, so that not every reader scans a million rows. A failed computation is dropped,
 * and the next reader tries again.
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
  if (!file?.isFile()) return null;
  const looked = statSync(looksFile(dirname(path)), { throwIfNoEntry: false })?.size ?? 0;
  return { version: `${file.ino}-${file.mtimeNs}-${looked}`, file };
};

const openFile = async (path: string): Promise<Database> => {
  await assertOwnSnapshot(path);
  return openDatabase(path, {
    readOnly: true,
    lockedDown: true,
    memoryLimit: MEMORY_LIMIT,
    maxTempSize: MOST_SPILLED,
    statementMs: MOST_STATEMENT_MS,
    // Statements run side by side; a second thread of each would mostly ask whether the first is done.
    threads: 1,
  }).catch((cause: unknown) => {
    throw new DuckmirrorError("QUERY_FAILED", { detail: detailOf(cause) }, { cause });
  });
};

/** The version's database, opened for its first reader. `closed`: the whole source is. */
const openedOf = (version: Version, closed: boolean): Promise<Database> => {
  if (version.database !== null) return version.database;
  const { path } = version.snapshot;
  // A statement that waited longer than its reader: the file may be another one by now, and nobody would close it.
  if (closed || (version.superseded && version.readers === 0))
    throw new DuckmirrorError("SNAPSHOT_MISSING", { file: path });
  const opening = openFile(path);
  version.database = opening;
  opening.catch(() => {
    // The next reader tries again.
    if (version.database === opening) version.database = null;
  });
  return opening;
};

const closeDatabase = async (version: Version): Promise<void> => {
  const opened = version.database;
  version.database = null;
  await opened?.then((database) => database.close()).catch(() => undefined);
};

const stopIdling = (version: Version): void => {
  if (version.idle !== null) clearTimeout(version.idle);
  version.idle = null;
};

/** Closes a superseded version after its last reader, the present one after `idleMs` without readers. */
const release = (version: Version, idleMs: number): void => {
  if (version.readers > 0) return;
  stopIdling(version);
  if (version.superseded) void closeDatabase(version);
  else if (version.database !== null) version.idle = setTimeout(() => void closeDatabase(version), idleMs).unref();
};

export const openSnapshots = (path: string, idleMs = IDLE_MS): SnapshotSource => {
  let current: Version | null = null;
  let closed = false;
  const lanes = createFairLanes(MOST_AT_ONCE, MOST_OF_ONE);
  const sideBySide = <T>(work: () => Promise<T>) => lanes(asking.getStore() ?? "", work);

  const versionOf = ({ version: name, file }: NonNullable<ReturnType<typeof statOf>>): Version => {
    const snapshot: Snapshot = {
      version: name,
      path,
      bytes: Number(file.size),
      modifiedAt: Number(file.mtimeMs),
      looks: looksSince(path),
      query: (sql, params, row) => sideBySide(async () => (await openedOf(version, closed)).query(sql, params, row)),
      cells: (sql, params) => sideBySide(async () => (await openedOf(version, closed)).cells(sql, params)),
      integers: (sql, first, second) =>
        sideBySide(async () => (await openedOf(version, closed)).integers(sql, first, second)),
    };
    const version: Version = { snapshot, database: null, readers: 0, superseded: false, idle: null };
    return version;
  };
  const present = (): Version => {
    const found = closed ? null : statOf(path);
    if (found === null) throw new DuckmirrorError("SNAPSHOT_MISSING", { file: path });
    if (current !== null && current.snapshot.version === found.version) return current;
    if (current !== null) {
      current.superseded = true;
      release(current, idleMs);
    }
    current = versionOf(found);
    return current;
  };

  return {
    path,
    version: () => statOf(path)?.version ?? null,
    use: async (work) => {
      const version = present();
      version.readers += 1;
      stopIdling(version);
      try {
        return await work(version.snapshot);
      } finally {
        version.readers -= 1;
        release(version, idleMs);
      }
    },
    close: async () => {
      closed = true;
      const last = current;
      current = null;
      if (last === null) return;
      last.superseded = true;
      stopIdling(last);
      // Closing waits for a reader's statement.
      await closeDatabase(last);
    },
  };
};
