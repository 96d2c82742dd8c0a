-- Purpose: every table of the attached database `old`. Grain: one row per table. Parameters: none.
-- Readers: src/warehouse/file/publish/rewrite-file.ts.
SELECT '"' || replace(schema_name, '"', '""') || '"."' || replace(table_name, '"', '""') || '"' AS path
FROM duckdb_tables()
WHERE database_name = 'old'
ORDER BY path;
