// Paths of the files in the data directory (contract: files on disk). Reads and writes none of them.
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * The path with every link in it resolved, as far as it exists. Users may name links; a link below a data directory whose
 * own path holds none was planted.
 */
export const withoutLinks = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(withoutLinks(above), basename(path));
  }
};

/** The published snapshot, which readers open. */
export const snapshotPath = (dataDir: string): string => join(dataDir, "warehouse.duckdb");

/** Default folder of exports: Parquet in `export`, others in `export-csv`, `export-ndjson`. */
export const exportDir = (dataDir: string, format: string): string =>
  join(dataDir, format === "parquet" ? "export" : `export-${format}`);

/** Folder of state/ for the snapshots that deliveries read (src/deliver/source.ts). `forget` removes it. */
export const DELIVERING = "delivering";

/** Folder of state/ with what deliveries to each destination came to (src/deliver/delivery-results.ts). */
export const DELIVERIES = "deliveries";

/** Folder of state/ with the files of each alert rule (src/alerts/store). `forget` removes messages that hold the person. */
export const ALERTS = "alerts";

/** How folders of state/ begin that hold a copy of the snapshot while a backup is sent or fetched. `forget` removes them. */
export const BACKUP_ON_ITS_WAY = "backup-on-its-way-";

/** How files and folders of state/ begin that are on their way to a mirror's home or from it. `forget` removes them. */
export const HOME_ON_ITS_WAY = "home-on-its-way-";
