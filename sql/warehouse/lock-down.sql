-- Purpose: before SQL that a user wrote: no other file, no extension, no change of settings.
-- Parameters: none. Readers: src/warehouse/duckdb/database.ts, src/warehouse/read/query.ts.
SET GLOBAL TimeZone = 'UTC';
SET GLOBAL autoload_known_extensions = false;
SET GLOBAL enable_external_access = false;
SET GLOBAL lock_configuration = true;
