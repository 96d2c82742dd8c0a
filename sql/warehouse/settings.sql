-- Purpose: settings of every instance. Times are read and shown in UTC, whatever the host's zone. Only literals and
-- joins use a primary key's index; by default DuckDB scans the table from 2,048 of them on.
-- Parameters: none. Readers: src/warehouse/duckdb/instance.ts.
SET GLOBAL TimeZone = 'UTC';
SET GLOBAL index_scan_max_count = 1000000;
-- A commit writes the WAL. Moving the WAL into the file every 16 MB (the default) would compress the same row groups
-- repeatedly; until then its rows are in memory as well (docs/PERFORMANCE.md).
SET GLOBAL checkpoint_threshold = '32MB';
