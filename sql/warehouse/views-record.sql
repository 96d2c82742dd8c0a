-- Purpose: checksum of the texts behind this file's views and comments, which are created again when it changes.
-- Grain: at most one row. Readers: src/warehouse/file/views.ts.
CREATE TABLE IF NOT EXISTS sync.views (checksum VARCHAR NOT NULL, applied_at TIMESTAMPTZ NOT NULL);
