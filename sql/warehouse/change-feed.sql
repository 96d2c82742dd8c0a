-- Purpose: how far the change feed has come, the time of its last change (milliseconds), and whether it still has to start. Grain: one row. Parameters: none.
-- Readers: src/warehouse/load/change-log.ts, src/warehouse/read/changes/read-changes.ts.
SELECT
  greatest(gone_to, (SELECT max(last_n) FROM sync.change_batches)) AS last,
  gone_to,
  coalesce((SELECT epoch_ms(max("at")) FROM sync.change_batches), 0) AS last_at,
  pending
FROM sync.change_feed;
