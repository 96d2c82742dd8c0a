-- Purpose: columns of every table of this database and of the attached older file `old`, with their defaults.
-- Grain: one row per database, table and column, in order. Parameters: none. Readers: src/warehouse/file/older-snapshot.ts.
SELECT
  c.database_name AS database,
  c.schema_name AS schema,
  c.table_name AS table,
  c.column_name AS column,
  c.column_default AS fallback
FROM duckdb_columns() AS c
JOIN duckdb_tables() AS t ON t.database_name = c.database_name AND t.table_oid = c.table_oid
WHERE NOT c.internal AND c.database_name IN (current_database(), 'old')
ORDER BY c.schema_name, c.table_name, c.column_index;
