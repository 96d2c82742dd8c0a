-- Purpose: table of the migrations applied to this file; created before the first migration runs.
-- Grain: one row per applied migration; checksum is the sha256 of the file's text.
-- Parameters: none. Readers: src/warehouse/file/migrate.ts.
CREATE SCHEMA IF NOT EXISTS sync;
CREATE TABLE IF NOT EXISTS sync.migrations (
  number INTEGER PRIMARY KEY,
  name VARCHAR NOT NULL,
  checksum VARCHAR NOT NULL,
  applied_at TIMESTAMPTZ NOT NULL
);
