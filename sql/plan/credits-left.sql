-- Purpose: credits left by the latest quota reading, less the credits that this mirror has spent since. Parameter: now.
-- A reading of a period that has ended says nothing. Grain: at most one row. Readers: src/sync/plan/credits.ts.
WITH reading AS (
  SELECT "limit" AS credit_limit, remaining, resets_at, captured_at
  FROM main.usage_snapshots
  WHERE remaining IS NOT NULL AND captured_at <= $1 AND coalesce(resets_at > $1, true)
  ORDER BY captured_at DESC
  LIMIT 1
)
SELECT
  reading.credit_limit,
  greatest(0, reading.remaining - count(requests.request_id)) AS remaining,
  reading.resets_at
FROM reading
LEFT JOIN sync.requests AS requests
  ON requests.charge = 'spent'
    -- A millisecond later: the reading's own request may end just after the time of the reading.
    AND epoch_ms(requests.started_at) + requests.duration_ms > epoch_ms(reading.captured_at) + 1
GROUP BY reading.credit_limit, reading.remaining, reading.resets_at
