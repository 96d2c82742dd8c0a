-- Purpose: estimated number of rows of a table, without counting them. Grain: one row.
-- Parameters: table name. Readers: src/warehouse/load/load-batch.ts.
SELECT estimated_size AS estimate FROM duckdb_tables()
WHERE schema_name = 'main' AND table_name = $1 AND NOT temporary;
