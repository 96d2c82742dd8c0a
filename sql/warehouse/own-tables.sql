-- Purpose: every table of the open file. Grain: one row per table. Parameters: none.
-- Readers: src/warehouse/file/baseline/baseline.ts, src/warehouse/file/publish-if-changed.ts.
SELECT '"' || replace(schema_name, '"', '""') || '"."' || replace(table_name, '"', '""') || '"' AS path
FROM duckdb_tables()
WHERE NOT internal AND NOT temporary AND database_name = current_database()
ORDER BY path;
