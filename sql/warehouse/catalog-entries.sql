-- Purpose: everything in the open file's catalog that holds SQL, without binding it.
-- Grain: one row per entry (columns: per type and default): its kind and name, and a statement that stands for it, which
-- the gate checks; an empty statement: an entry that duckmirror never makes.
-- Parameters: none. Readers: src/warehouse/user-sql/gate/inspect-catalog.ts.
WITH views AS (
  SELECT schema_name, view_name, sql, 'CREATE VIEW marts.' || view_name || ' AS ' AS head
  FROM system.main.duckdb_views() WHERE database_name = current_database() AND NOT internal
), tables AS (
  SELECT * FROM system.main.duckdb_tables() WHERE database_name = current_database() AND NOT internal
), columns AS (
  SELECT tables.schema_name || '.' || tables.table_name || '.' || column_name AS name,
    'SELECT NULL::' || data_type || ', ' || coalesce(nullif(column_default, ''), 'NULL') AS statement
  FROM system.main.duckdb_columns() AS c
  JOIN tables ON tables.schema_oid = c.schema_oid AND tables.table_oid = c.table_oid AND c.database_name = tables.database_name
)
-- A name that needs quotes could end the head early.
SELECT 'view ' || schema_name || '.' || view_name AS entry,
  CASE WHEN schema_name = 'marts' AND regexp_full_match(view_name, '[a-z0-9_]+') AND starts_with(sql, head)
    THEN substr(sql, length(head) + 1) ELSE '' END AS statement
FROM views
UNION ALL
SELECT 'macro ' || schema_name || '.' || function_name,
  CASE WHEN function_type = 'table_macro' AND schema_name IN ('as_of', 'asof') THEN macro_definition ELSE '' END
FROM system.main.duckdb_functions() WHERE database_name = current_database() AND NOT internal
UNION ALL
SELECT 'column ' || min(name), statement FROM columns GROUP BY statement
UNION ALL
SELECT 'table ' || schema_name || '.' || table_name || ' with a check or a generated column', ''
FROM tables WHERE check_constraint_count > 0 OR contains(sql, 'GENERATED ALWAYS')
UNION ALL
SELECT 'index ' || schema_name || '.' || index_name, ''
FROM system.main.duckdb_indexes() WHERE database_name = current_database()
UNION ALL
SELECT 'type ' || schema_name || '.' || type_name, ''
FROM system.main.duckdb_types() WHERE database_name = current_database() AND NOT internal;
