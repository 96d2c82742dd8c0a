-- Purpose: stores the new state of a known scope.
-- Parameters: stream, scope, then the other columns in their order. Readers: src/warehouse/load/commit.ts.
UPDATE sync.stream_state SET
  status = $3,
  walk_id = $4,
  "cursor" = $5,
  watermark = $6,
  total_count = $7,
  rows_at_walk = $8,
  checked_at = $9,
  walked_at = $10,
  error = $11,
  run_id = $12,
  unconfirmed = $13,
  unconfirmed_because = $14
WHERE stream = $1 AND scope = $2;
