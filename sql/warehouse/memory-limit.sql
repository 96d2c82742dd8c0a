-- Purpose: how much memory DuckDB takes at most, as text that `SET memory_limit` understands. Grain: one row.
-- Parameters: none. Readers: src/warehouse/duckdb/database.ts.
SELECT current_setting('memory_limit') AS "limit";
