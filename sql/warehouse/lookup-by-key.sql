-- Purpose: highest number of keys that a join of this connection looks up in the primary key's index; with more keys
-- it scans the table. DuckDB's default is 50.
-- Parameters: number of keys. Readers: src/warehouse/load/load-batch.ts.
SET SESSION dynamic_or_filter_threshold = $1;
