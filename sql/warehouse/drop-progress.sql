-- Purpose: marks every scope as unread, so that the next sync walks every list, because the mirror may lack rows.
-- Parameters: none. Readers: src/sync/recovery/replay.ts.
UPDATE sync.stream_state SET
  status = 'idle', walk_id = NULL, "cursor" = NULL, watermark = NULL, rows_at_walk = NULL, checked_at = NULL, walked_at = NULL,
  unconfirmed = 0, unconfirmed_because = 'the archive it was rebuilt from lacks answers';
