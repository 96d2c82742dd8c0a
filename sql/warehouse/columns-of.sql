-- Purpose: columns of a table or view. Parameters: $1 schema and name, quoted. Grain: one row per column, in order.
-- Readers: src/warehouse/export/manifest.ts.
SELECT column_name AS name, data_type AS type
FROM duckdb_columns()
WHERE database_name = current_database()
  AND $1 IN (schema_name || '.' || table_name, schema_name || '."' || table_name || '"')
ORDER BY column_index;
