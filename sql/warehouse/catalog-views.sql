-- Purpose: views and macros of the open file, without binding any.
-- Grain: one row per entry: its kind and name, and its SELECT, which the gate checks; an empty one: an entry that duckmirror never makes.
-- Parameters: none. Readers: src/warehouse/user-sql/gate/inspect-catalog.ts.
WITH views AS (
  SELECT schema_name, view_name, sql, 'CREATE VIEW marts.' || view_name || ' AS ' AS head
  FROM system.main.duckdb_views() WHERE database_name = current_database() AND NOT internal
)
-- A name that needs quotes could end the head early.
SELECT 'view ' || schema_name || '.' || view_name AS entry,
  CASE WHEN schema_name = 'marts' AND regexp_full_match(view_name, '[a-z0-9_]+') AND starts_with(sql, head)
    THEN substr(sql, length(head) + 1) ELSE '' END AS statement
FROM views
UNION ALL
SELECT 'macro ' || schema_name || '.' || function_name,
  CASE WHEN function_type = 'table_macro' AND schema_name IN ('as_of', 'asof') THEN macro_definition ELSE '' END
FROM system.main.duckdb_functions() WHERE database_name = current_database() AND NOT internal;
