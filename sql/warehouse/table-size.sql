-- Purpose: about how many rows a table of the mirror holds, without counting them. Grain: one row.
-- Parameters: table name. Readers: src/warehouse/load/load-batch.ts.
SELECT estimated_size AS estimate FROM duckdb_tables()
WHERE schema_name = 'main' AND table_name = $1 AND NOT temporary;
