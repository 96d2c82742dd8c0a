// The result of a query: its columns, and rows in batches or at once.
import type { OutValue } from "../duckdb/out-values.ts";

export interface QueryColumn {
  readonly name: string;
  /** Name of the type in DuckDB, e.g. `BIGINT`, `VARCHAR[]`. */
  readonly type: string;
}

export interface QueryCursor {
  readonly columns: readonly QueryColumn[];
  /** Rows in batches, as they become available. BIGINT is exact; times are ISO 8601 text in UTC. */
  readonly batches: AsyncIterable<readonly (readonly OutValue[])[]>;
}

export interface QueryResult {
  readonly columns: readonly QueryColumn[];
  readonly rows: readonly (readonly OutValue[])[];
}
