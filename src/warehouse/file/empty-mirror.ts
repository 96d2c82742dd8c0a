// An empty mirror in memory, for a data directory without one: every table, no row. Creates nothing on disk.
import { statSync } from "node:fs";
import { openDatabase } from "../duckdb/database.ts";
import { type MirrorReader, mirrorReader } from "../read/mirror-reader.ts";
import { migrate } from "./migrate.ts";
import { warehousePaths } from "./working-file.ts";

/** True when no sync has started in the directory, and no mirror was put there. */
export const isUnused = (dataDir: string): boolean => {
  const { working, archiveDir, snapshot } = warehousePaths(dataDir);
  return [working, archiveDir, snapshot].every((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
};

/** Runs `work` on an empty mirror. `now`: ms since the epoch. */
export const readEmptyMirror = async <T>(now: number, work: (reader: MirrorReader) => Promise<T>): Promise<T> => {
  const database = await openDatabase(":memory:", { threads: 1 });
  try {
    await migrate(database, now);
    return await work(mirrorReader(database));
  } finally {
    await database.close();
  }
};
