// Checks that a snapshot may be opened, and opens it: it must exist, and without a WAL, because a reader would apply it.
import { statSync } from "node:fs";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { fileError } from "../duckdb/duck-errors.ts";

const MEMORY_LIMIT = "1GB";

/**
 * Publishing leaves no `<snapshot>.wal`. If one exists, something else wrote it, and it would change what readers
 * see. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED.
 */
export const assertReadable = (snapshot: string): void => {
  if (!statSync(snapshot, { throwIfNoEntry: false })?.isFile()) {
    throw new DuckmirrorError("SNAPSHOT_MISSING", { file: snapshot });
  }
  if (statSync(`${snapshot}.wal`, { throwIfNoEntry: false }) === undefined) return;
  const detail = `${snapshot}.wal lies beside it, which duckmirror never writes`;
  throw new DuckmirrorError("SNAPSHOT_DAMAGED", { file: snapshot, detail });
};

/** Opens the snapshot for statements of the program itself, read-only, in this process. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, QUERY_FAILED. The caller closes it. */
export const openSnapshot = (snapshot: string): Promise<Database> => {
  assertReadable(snapshot);
  return openDatabase(snapshot, { readOnly: true, lockedDown: true, memoryLimit: MEMORY_LIMIT }).catch(
    (raw: unknown) => {
      const error = fileError(raw, snapshot, true);
      throw error instanceof DuckmirrorError ? error : new DuckmirrorError("QUERY_FAILED", { detail: detailOf(error) });
    },
  );
};
