-- Purpose: the migrations of this file. Grain: one row per applied migration.
-- Parameters: none. Readers: src/warehouse/file/migrate.ts.
SELECT number, name, checksum FROM sync.migrations ORDER BY number;
