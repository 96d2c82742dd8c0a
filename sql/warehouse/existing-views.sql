-- Purpose: views of the analysts' schema in this file. Readers: src/warehouse/file/views.ts.
SELECT view_name FROM duckdb_views() WHERE schema_name = 'marts' AND database_name = current_database() AND NOT internal;
