-- Purpose: columns of the analysts' views with types and comments. Grain: one row per view and column.
-- Readers: src/warehouse/file/views.ts.
SELECT
  columns.table_name AS view_name,
  views.comment AS view_comment,
  columns.column_name,
  columns.data_type,
  columns.comment
FROM duckdb_columns() AS columns
JOIN duckdb_views() AS views
  ON views.view_name = columns.table_name AND views.schema_name = columns.schema_name
  AND views.database_name = columns.database_name
WHERE columns.schema_name = 'marts' AND columns.database_name = current_database()
ORDER BY view_name, columns.column_index;
