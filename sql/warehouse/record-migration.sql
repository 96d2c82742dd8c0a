-- Purpose: remembers that a migration was applied, in the transaction that applied it.
-- Parameters: number, name, checksum, applied_at. Readers: src/warehouse/file/migrate.ts.
INSERT INTO sync.migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?);
