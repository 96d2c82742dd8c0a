-- Purpose: latest quota reading, and this mirror's spending since the period began. The period is assumed to be the
-- month before resets_at; without resets_at the month before the reading is shown. late_here: spent requests that were
-- answered so shortly before the reading, or after it, that the service may not have counted them yet. Grain: at most
-- one row. Readers: src/warehouse/read/read-credits.ts, src/warehouse/file/publish-if-changed.ts.
WITH latest AS MATERIALIZED (
  SELECT "limit" AS credit_limit, used, remaining, resets_at, captured_at
  FROM main.usage_snapshots
  WHERE remaining IS NOT NULL
  ORDER BY captured_at DESC
  LIMIT 1
),
reading AS (
  SELECT
    credit_limit,
    used,
    remaining,
    -- As in plan/last-quota.sql.
    coalesce(
      resets_at,
      (
        SELECT max_by(known.resets_at, known.captured_at)
        FROM main.usage_snapshots AS known
        WHERE known.resets_at > latest.captured_at
      )
    ) AS resets_at,
    captured_at
  FROM latest
)
SELECT
  reading.credit_limit,
  reading.used,
  reading.remaining,
  reading.resets_at,
  reading.captured_at,
  count(*) FILTER (requests.charge = 'spent') AS spent_here,
  count(*) FILTER (requests.charge = 'ambiguous') AS ambiguous_here,
  count(*) FILTER (
    requests.charge = 'spent'
    AND epoch_ms(requests.started_at) + requests.duration_ms > epoch_ms(reading.captured_at) - 5000
  ) AS late_here
FROM reading
LEFT JOIN sync.requests AS requests
  ON requests.started_at >= coalesce(reading.resets_at, reading.captured_at) - INTERVAL 1 MONTH
    AND requests.started_at <= reading.captured_at
GROUP BY ALL;
