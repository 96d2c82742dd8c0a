-- Purpose: settings of every instance. Instants are read and shown in UTC whatever the host's zone is. Only literals
-- and joins reach a primary key's index, and from 2,048 of them on DuckDB would scan the table instead.
-- Parameters: none. Readers: src/warehouse/duckdb/database.ts.
SET GLOBAL TimeZone = 'UTC';
SET GLOBAL index_scan_max_count = 1000000;
-- Committing writes the WAL; moving it into the file after every 16 MB would compress the same row groups again and again.
-- Until it is moved its rows are held in memory as well (docs/PERFORMANCE.md).
SET GLOBAL checkpoint_threshold = '32MB';
