-- Purpose: the newest forecast of the credits at the reset. Grain: at most one row. Parameters: none.
-- Readers: src/alerts/events/conditions.ts.
SELECT remaining, forecast_remaining, CAST(forecast_empty_on AS VARCHAR) AS empty_on, resets_at, captured_at, spent_per_day
FROM marts.credit_burn
WHERE captured_at IS NOT NULL AND forecast_remaining IS NOT NULL
ORDER BY day DESC
LIMIT 1;
