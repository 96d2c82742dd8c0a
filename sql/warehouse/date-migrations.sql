-- Purpose: dates the migrations of a new file that is a copy: of the build's empty mirror, or of a baseline.
-- Parameters: when the file was created. Readers: src/warehouse/file/working-file.ts, src/warehouse/file/rebuild.ts.
UPDATE sync.migrations SET applied_at = $1;
