-- Purpose: the list of contacts holds fewer rows than when its counts last agreed, because some were forgotten: without
-- this the next sync would walk the whole list to find out what is missing. Parameters: $1 rows forgotten.
-- Readers: src/warehouse/load/changes.ts.
UPDATE sync.stream_state SET rows_at_walk = rows_at_walk - $1 WHERE stream = 'contacts' AND scope = '';
