-- Purpose: the day on which the credits end at the present pace. Grain: one row, or none before the service reported figures.
-- Parameters: none. Readers: src/warehouse/read/read-status.ts.
SELECT forecast_empty_on
FROM marts.credit_burn
WHERE captured_at IS NOT NULL
ORDER BY day DESC
LIMIT 1;
