-- Purpose: drops the keys of a walk that ended or was abandoned.
-- Parameters: walk_id. Readers: src/warehouse/load/walks.ts.
DELETE FROM sync.walk_seen WHERE walk_id = $1;
