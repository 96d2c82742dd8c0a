-- Purpose: tables of which the last 24 hours before a moment changed more rows than three times the busiest day of the four weeks before
-- (and more than 300), or none although each of the two weeks' days before added some. Only where the feed is a week older than that day.
-- Grain: one row per table and kind of change. Parameters: $1 moment. Readers: src/alerts/events/conditions.ts.
WITH days AS (
  SELECT
    table_name,
    change,
    CAST(floor(date_diff('second', "at", $1::TIMESTAMPTZ) / 86400) AS INTEGER) AS ago,
    sum(last_n - first_n + 1) AS n
  FROM sync.change_batches
  WHERE "at" <= $1::TIMESTAMPTZ AND "at" > $1::TIMESTAMPTZ - INTERVAL 29 DAY AND table_name NOT LIKE 'usage%' AND table_name <> 'signal_counts'
  GROUP BY ALL
),
compared AS (
  SELECT
    table_name,
    change,
    coalesce(sum(n) FILTER (ago = 0), 0)::BIGINT AS "rows",
    coalesce(max(n) FILTER (ago > 0), 0)::BIGINT AS busiest,
    count(*) FILTER (ago BETWEEN 1 AND 14) AS days_with
  FROM days
  GROUP BY ALL
)
SELECT table_name, change, "rows", busiest
FROM compared
WHERE (SELECT min("at") FROM sync.change_batches) < $1::TIMESTAMPTZ - INTERVAL 8 DAY
  AND (("rows" > 3 * greatest(busiest, 100)) OR (change = 'insert' AND "rows" = 0 AND days_with = 14))
ORDER BY table_name, change;
