// Cleaning of a lake after a delivery: merges small files, and removes snapshots that are too old and files that no snapshot needs; after an
// erasure, every earlier snapshot at once.
import type { ExtendedDuckdb } from "../../../warehouse/duckdb/extended/extended-duckdb.ts";
import { LAKE } from "./lake-address.ts";

/** A file may be in use by a reader that began before it was replaced, or by a delivery that has not committed. */
const FILES_IN_USE = "INTERVAL 1 DAY";

/** `keepMs`: age of the oldest snapshot that stays; the newest always stays. */
export const maintain = async (lake: ExtendedDuckdb, keepMs: number): Promise<void> => {
  const age = `to_milliseconds(${keepMs})`;
  await lake.run(`CALL ducklake_expire_snapshots('${LAKE}', older_than => now() - ${age})`);
  await lake.run(`CALL ducklake_merge_adjacent_files('${LAKE}')`);
  await lake.run(`CALL ducklake_rewrite_data_files('${LAKE}')`);
  await lake.run(`CALL ducklake_cleanup_old_files('${LAKE}', older_than => now() - ${FILES_IN_USE})`);
  await lake.run(`CALL ducklake_delete_orphaned_files('${LAKE}', older_than => now() - ${FILES_IN_USE})`);
};

/** Removes every earlier snapshot and its files at once: they hold rows of erased persons. */
export const purge = async (lake: ExtendedDuckdb): Promise<void> => {
  // Rows that were deleted stay in a file until it is rewritten.
  await lake.run(`CALL ducklake_rewrite_data_files('${LAKE}', delete_threshold => 0)`);
  await lake.run(`CALL ducklake_expire_snapshots('${LAKE}', older_than => now())`);
  await lake.run(`CALL ducklake_cleanup_old_files('${LAKE}', cleanup_all => true)`);
};
