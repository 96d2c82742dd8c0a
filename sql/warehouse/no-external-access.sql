-- Purpose: from here on no file but those of allowed_directories, no network, no extension. It cannot be undone.
-- Parameters: none. Readers: src/warehouse/duckdb/instance.ts.
SET GLOBAL autoload_known_extensions = false;
SET GLOBAL enable_external_access = false;
