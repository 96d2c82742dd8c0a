-- Purpose: credits spent and left by day, and a projection to the reset.
-- Grain: one row per day (UTC) on which this mirror made a request or the service reported the quota.
-- Days are cut by arithmetic: calendar functions on a million requests took half a second.
-- resets_at identifies a period. Spending by others in the organization counts in org_spent, not in spent_here.
-- Readers: operators, dashboards, alerts.
CREATE OR REPLACE VIEW marts.credit_burn AS
WITH requests AS (
  SELECT
    CAST(make_timestamp(epoch_us(started_at)) AS DATE) AS day,
    count(*) AS requests,
    count(*) FILTER (charge = 'spent') AS spent_here,
    count(*) FILTER (charge = 'ambiguous') AS ambiguous_here
  FROM sync.requests
  GROUP BY 1
),
readings AS (
  SELECT
    CAST(make_timestamp(epoch_us(captured_at)) AS DATE) AS day,
    arg_max("limit", captured_at) AS credit_limit,
    arg_min(used, captured_at) AS first_used,
    arg_max(used, captured_at) AS used,
    arg_max(remaining, captured_at) AS remaining,
    arg_max(resets_at, captured_at) AS resets_at,
    max(captured_at) AS captured_at
  FROM main.usage_snapshots
  WHERE remaining IS NOT NULL
  GROUP BY 1
),
spending AS (
  SELECT
    readings.day, credit_limit, used, remaining, resets_at, captured_at,
    -- On the first day of a period, all spending since its start counts, also before the first reading.
    -- This mirror's spending is part of it, whether before the first reading or after the last.
    greatest(coalesce(requests.spent_here, 0), used - coalesce(
      lag(used) OVER (PARTITION BY resets_at ORDER BY readings.day),
      CASE WHEN lag(readings.day) OVER (ORDER BY readings.day) IS NULL THEN first_used ELSE 0 END
    )) AS org_spent,
    min(readings.day) OVER (PARTITION BY resets_at) AS first_day
  FROM readings
  LEFT JOIN requests ON requests.day = readings.day
),
rates AS (
  SELECT
    day, credit_limit, used, remaining, resets_at, captured_at, org_spent,
    CAST(sum(org_spent) OVER (
      PARTITION BY resets_at ORDER BY day RANGE BETWEEN INTERVAL 6 DAY PRECEDING AND CURRENT ROW
    ) AS DOUBLE) / least(7, date_diff('day', first_day, day) + 1) AS spent_per_day,
    greatest(0, epoch(resets_at) - epoch(captured_at)) / 86400 AS days_to_reset
  FROM spending
)
SELECT
  coalesce(rates.day, requests.day) AS day,
  coalesce(requests.requests, 0) AS requests,
  coalesce(requests.spent_here, 0) AS spent_here,
  coalesce(requests.ambiguous_here, 0) AS ambiguous_here,
  rates.org_spent,
  rates.used,
  rates.remaining,
  rates.credit_limit,
  rates.resets_at,
  rates.captured_at,
  round(rates.spent_per_day, 2) AS spent_per_day,
  round(rates.days_to_reset, 2) AS days_to_reset,
  CAST(round(rates.spent_per_day * rates.days_to_reset) AS BIGINT) AS forecast_spend,
  CAST(round(rates.remaining - rates.spent_per_day * rates.days_to_reset) AS BIGINT) AS forecast_remaining,
  CASE
    WHEN rates.spent_per_day > 0 AND rates.remaining < rates.spent_per_day * rates.days_to_reset
      THEN rates.day + CAST(floor(rates.remaining / rates.spent_per_day) AS INTEGER)
  END AS forecast_empty_on
FROM rates
FULL JOIN requests ON requests.day = rates.day;

COMMENT ON VIEW marts.credit_burn IS 'Credits spent and left by day, with a forecast to the reset. One row per day (UTC) with a request or a reading of the quota.';
COMMENT ON COLUMN marts.credit_burn.day IS 'Day, UTC.';
COMMENT ON COLUMN marts.credit_burn.requests IS 'Requests this mirror made.';
COMMENT ON COLUMN marts.credit_burn.spent_here IS 'Credits this mirror spent.';
COMMENT ON COLUMN marts.credit_burn.ambiguous_here IS 'Requests that ended without an answer and may have cost a credit.';
COMMENT ON COLUMN marts.credit_burn.org_spent IS 'Credits the whole organization spent by the figures of the service, at least those this mirror spent; on the first day known, only what was spent between two readings.';
COMMENT ON COLUMN marts.credit_burn.used IS 'Credits used in the period, last reading of the day.';
COMMENT ON COLUMN marts.credit_burn.remaining IS 'Credits left in the period, last reading of the day.';
COMMENT ON COLUMN marts.credit_burn.credit_limit IS 'Credits of the period.';
COMMENT ON COLUMN marts.credit_burn.resets_at IS 'When the period ends.';
COMMENT ON COLUMN marts.credit_burn.captured_at IS 'When the last reading of the day was made; NULL when there was none.';
COMMENT ON COLUMN marts.credit_burn.spent_per_day IS 'org_spent per day over up to seven days of the period.';
COMMENT ON COLUMN marts.credit_burn.days_to_reset IS 'Days from the reading to the reset.';
COMMENT ON COLUMN marts.credit_burn.forecast_spend IS 'spent_per_day times days_to_reset.';
COMMENT ON COLUMN marts.credit_burn.forecast_remaining IS 'remaining minus forecast_spend; below zero the credits do not last.';
COMMENT ON COLUMN marts.credit_burn.forecast_empty_on IS 'Day on which the credits end at this pace; NULL when they last until the reset.';
