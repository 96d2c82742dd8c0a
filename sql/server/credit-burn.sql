-- Purpose: spending by day and its projection, newest first. Grain: one row per day, the last sixty with spending.
-- Readers: src/server/figures/overview.ts, src/server/figures/metrics.ts.
SELECT
  strftime(day, '%Y-%m-%d') AS day,
  requests,
  spent_here,
  ambiguous_here,
  org_spent,
  remaining,
  credit_limit,
  resets_at,
  captured_at,
  spent_per_day,
  days_to_reset,
  forecast_spend,
  forecast_remaining,
  strftime(forecast_empty_on, '%Y-%m-%d') AS forecast_empty_on
FROM marts.credit_burn
ORDER BY day DESC
LIMIT 60;
