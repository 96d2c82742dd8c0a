// Versions of the program, its schema, DuckDB and Node (`--version --json`), for bug reports and upgrades.
import { system } from "../../../core/system.ts";
import { duckdbVersion } from "../../../warehouse/duckdb/instance.ts";
import { readMigrations } from "../../../warehouse/duckdb/sql-files.ts";

/** `schema`: number of the last migration; a mirror with a higher one was made by a newer program. */
export const versions = (version: string) => ({
  version,
  schema: readMigrations().length,
  duckdb: duckdbVersion(),
  node: process.versions.node,
  platform: `${system.platform}-${process.arch}`,
});
