-- Purpose: records an applied migration, in the transaction that applies it.
-- Parameters: number, name, checksum, applied_at. Readers: src/warehouse/file/migrate.ts.
INSERT INTO sync.migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?);
