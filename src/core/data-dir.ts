// Where things stand in the data directory (contract: files on disk).
import { join } from "node:path";

/** The published snapshot: what readers open. */
export const snapshotPath = (dataDir: string): string => join(dataDir, "warehouse.duckdb");
