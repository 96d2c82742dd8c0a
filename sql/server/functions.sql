-- Purpose: functions that SQL on the snapshot may name, for the editor's completion. Grain: one row per name.
-- Parameters: none. Readers: src/server/figures/tables.ts.
SELECT DISTINCT function_name AS name
FROM duckdb_functions()
WHERE regexp_matches(function_name, '^[a-z][a-z0-9_]+$') AND function_type IN ('scalar', 'aggregate', 'macro', 'table', 'table_macro')
ORDER BY name;
