-- Purpose: states of scopes. Grain: one row per stream and scope.
-- Parameters: stream, or NULL for all. Readers: src/warehouse/read/mirror-reader.ts.
SELECT
  stream, scope, status, walk_id, "cursor", watermark, total_count, rows_at_walk, checked_at, walked_at, error, run_id,
  unconfirmed, unconfirmed_because
FROM sync.stream_state WHERE $1 IS NULL OR stream = $1 ORDER BY stream, scope;
