-- Purpose: text columns of this file. Grain: one row per table of schemas main, history and sync that has any.
-- Parameters: none. Readers: src/warehouse/forget/scan.ts.
SELECT '"' || replace(schema_name, '"', '""') || '"."' || replace(table_name, '"', '""') || '"' AS path, list('"' || replace(column_name, '"', '""') || '"' ORDER BY column_index) AS columns
FROM duckdb_columns()
WHERE schema_name IN ('main', 'history', 'sync') AND database_name = current_database() AND NOT internal
  AND data_type IN ('VARCHAR', 'JSON', 'VARCHAR[]')
  AND table_name IN (SELECT table_name FROM duckdb_tables())
GROUP BY ALL
ORDER BY path;
