-- Purpose: what the views and comments of this file were made from, so that they are made anew when that changes.
-- Grain: at most one row. Readers: src/warehouse/file/views.ts.
CREATE TABLE IF NOT EXISTS sync.views (checksum VARCHAR NOT NULL, applied_at TIMESTAMPTZ NOT NULL);
