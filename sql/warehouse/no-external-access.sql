-- Purpose: allows files in allowed_directories only, no network, no extension. It cannot be undone.
-- Parameters: none. Readers: src/warehouse/duckdb/instance.ts.
SET GLOBAL autoload_known_extensions = false;
SET GLOBAL enable_external_access = false;
