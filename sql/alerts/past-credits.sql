-- Purpose: the forecast of the credits on each past day. Grain: one row per day with a reading, oldest first. Parameters: $1 moment.
-- Readers: src/alerts/events/past.ts.
SELECT remaining, forecast_remaining, CAST(forecast_empty_on AS VARCHAR) AS empty_on, resets_at, captured_at, spent_per_day
FROM marts.credit_burn
WHERE captured_at >= $1 AND forecast_remaining IS NOT NULL
ORDER BY captured_at;
