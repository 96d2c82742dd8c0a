-- Purpose: forbids other files, extensions and changes of settings.
-- Parameters: none. Readers: src/warehouse/duckdb/instance.ts.
SET GLOBAL TimeZone = 'UTC';
SET GLOBAL autoload_known_extensions = false;
SET GLOBAL enable_external_access = false;
SET GLOBAL lock_configuration = true;
