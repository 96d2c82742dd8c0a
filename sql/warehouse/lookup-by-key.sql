-- Purpose: joins of this connection hand up to so many keys to the scan of the other side, which then looks them up in the
-- primary key's index instead of scanning the table. 50 is DuckDB's own setting.
-- Parameters: number of keys. Readers: src/warehouse/load/load-batch.ts.
SET SESSION dynamic_or_filter_threshold = $1;
