-- Purpose: drops what a walk has met, when it ended or was given up.
-- Parameters: walk_id. Readers: src/warehouse/load/walks.ts.
DELETE FROM sync.walk_seen WHERE walk_id = $1;
