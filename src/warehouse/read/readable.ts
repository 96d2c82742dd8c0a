// Opens the published snapshot for the program's own statements.
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { fileError } from "../duckdb/duck-errors.ts";
import { assertOwnCatalog } from "../user-sql/own-snapshot.ts";
import { assertReadable } from "../user-sql/readable.ts";

const MEMORY_LIMIT = "1GB";

/** Opens the snapshot for statements of the program itself, read-only, in this process. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, QUERY_FAILED. The caller closes it. */
export const openSnapshot = async (snapshot: string): Promise<Database> => {
  assertReadable(snapshot);
  await assertOwnCatalog(snapshot);
  return openDatabase(snapshot, { readOnly: true, lockedDown: true, memoryLimit: MEMORY_LIMIT }).catch(
    (raw: unknown) => {
      const error = fileError(raw, snapshot, true);
      throw error instanceof DuckmirrorError ? error : new DuckmirrorError("QUERY_FAILED", { detail: detailOf(error) });
    },
  );
};
