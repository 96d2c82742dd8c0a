// Where things stand in the data directory (contract: files on disk).
import { join } from "node:path";

/** The published snapshot: what readers open. */
export const snapshotPath = (dataDir: string): string => join(dataDir, "warehouse.duckdb");

/** Where exports go unless another folder is named: Parquet to `export`, others to `export-csv`, `export-ndjson`. */
export const exportDir = (dataDir: string, format: string): string =>
  join(dataDir, format === "parquet" ? "export" : `export-${format}`);
