-- Purpose: drops the keys of finished walks, except walks that left rows unconfirmed.
-- Readers: src/sync/run/finish-run.ts and src/sync/recovery/replay.ts, when a run ends.
DELETE FROM sync.walk_seen
WHERE walk_id NOT IN (
  SELECT walk_id
  FROM sync.stream_state
  WHERE walk_id IS NOT NULL
)
