-- Purpose: how fresh each stream is. Grain: one row per stream that was ever looked at.
-- A scope is the organization, a company, an account or an input. oldest_check_at is the scope that is furthest behind.
-- Readers: src/warehouse/read/read-status.ts.
SELECT
  stream,
  count(*) AS scopes,
  count(*) FILTER (status = 'walking') AS walking,
  count(*) FILTER (status = 'failed') AS failed,
  count(*) FILTER (checked_at IS NULL) AS never_checked,
  max(checked_at) AS last_check_at,
  min(checked_at) AS oldest_check_at,
  min(walked_at) AS oldest_walk_at,
  sum(total_count)::BIGINT AS total_count,
  max(error) AS error
FROM sync.stream_state
GROUP BY stream
ORDER BY stream;
