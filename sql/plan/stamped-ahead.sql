-- Purpose: whether states of lists have times after $1, and this machine's clock can be right: no list has a change after it.
-- Grain: one row. Readers: src/sync/recovery/recover.ts.
SELECT
  coalesce(max(greatest(checked_at, walked_at)) > CAST($1 AS TIMESTAMPTZ), false)
    AND coalesce(max(watermark) FILTER (scope = '') <= CAST($1 AS TIMESTAMPTZ), true) AS ahead
FROM sync.stream_state;
