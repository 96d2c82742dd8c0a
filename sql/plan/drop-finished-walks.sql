-- Purpose: forget which records finished walks met. Readers: src/sync/run/run-sync.ts, when a run ends.
DELETE FROM sync.walk_seen
WHERE walk_id NOT IN (
  SELECT walk_id
  FROM sync.stream_state
  WHERE status = 'walking' AND walk_id IS NOT NULL
)
