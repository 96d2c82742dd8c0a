-- Purpose: everything in the open file's catalog that holds SQL, but views and macros (catalog-views.sql). `duckdb_columns()` may bind views,
-- so those are judged first.
-- Grain: one row per entry (columns: per type and default): its kind and name, and a statement that stands for it, which
-- the gate checks; an empty statement: an entry that duckmirror never makes.
-- Parameters: none. Readers: src/warehouse/user-sql/gate/inspect-catalog.ts.
WITH tables AS (
  SELECT * FROM system.main.duckdb_tables() WHERE database_name = current_database() AND NOT internal
), columns AS (
  SELECT tables.schema_name || '.' || tables.table_name || '.' || column_name AS name,
    'SELECT NULL::' || data_type || ', ' || coalesce(nullif(column_default, ''), 'NULL') AS statement
  FROM system.main.duckdb_columns() AS c
  JOIN tables ON tables.schema_oid = c.schema_oid AND tables.table_oid = c.table_oid AND c.database_name = tables.database_name
)
SELECT 'column ' || min(name), statement FROM columns GROUP BY statement
UNION ALL
SELECT 'table ' || schema_name || '.' || table_name || ' with a check or a generated column', ''
FROM tables WHERE check_constraint_count > 0 OR contains(sql, 'GENERATED ALWAYS')
UNION ALL
-- The program's statements name these, some without quotes.
SELECT 'name ' || name, '' FROM (
  SELECT DISTINCT unnest([schema_name, table_name, column_name]) AS name
  FROM system.main.duckdb_columns() WHERE database_name = current_database() AND NOT internal
) WHERE NOT regexp_full_match(name, '[A-Za-z0-9_]+')
UNION ALL
SELECT 'index ' || schema_name || '.' || index_name, ''
FROM system.main.duckdb_indexes() WHERE database_name = current_database()
UNION ALL
SELECT 'sequence ' || schema_name || '.' || sequence_name, ''
FROM system.main.duckdb_sequences() WHERE database_name = current_database()
UNION ALL
SELECT 'type ' || schema_name || '.' || type_name, ''
FROM system.main.duckdb_types() WHERE database_name = current_database() AND NOT internal;
