-- Purpose: dates the views of a new mirror that is a copy of the build's empty one.
-- Parameters: when the mirror was created. Readers: src/warehouse/file/working-file.ts.
UPDATE sync.views SET applied_at = $1;
