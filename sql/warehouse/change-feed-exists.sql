-- Purpose: whether this file has a change feed; snapshots of older versions have none. Grain: one row. Parameters: none.
-- Readers: src/warehouse/read/changes/read-changes.ts.
SELECT count(*) > 0 AS found FROM duckdb_tables() WHERE schema_name = 'sync' AND table_name = 'change_feed';
