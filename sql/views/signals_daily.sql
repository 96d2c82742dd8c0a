-- Purpose: number of events by account, day and type. Days are UTC; days without events have no row.
-- Grain: one row per day, account and type.
-- Readers: analysts, charts.
CREATE OR REPLACE VIEW marts.signals_daily AS
SELECT
  CAST(signals.date AT TIME ZONE 'UTC' AS DATE) AS day,
  signals.account_id,
  any_value(accounts.name) AS account_name,
  signals.type,
  count(*) AS signals,
  min(signals.date) AS first_at,
  max(signals.date) AS last_at
FROM main.signals AS signals
LEFT JOIN main.accounts AS accounts ON accounts.id = signals.account_id
GROUP BY 1, signals.account_id, signals.type;

COMMENT ON VIEW marts.signals_daily IS 'Events by day, account and type. One row per day (UTC), account and type that had any.';
COMMENT ON COLUMN marts.signals_daily.day IS 'Day of the events, UTC.';
COMMENT ON COLUMN marts.signals_daily.account_id IS 'Account: accounts.id.';
COMMENT ON COLUMN marts.signals_daily.account_name IS 'Name of the account; NULL when the account is not mirrored.';
COMMENT ON COLUMN marts.signals_daily.type IS 'Kind of event.';
COMMENT ON COLUMN marts.signals_daily.signals IS 'Number of events.';
COMMENT ON COLUMN marts.signals_daily.first_at IS 'First of them.';
COMMENT ON COLUMN marts.signals_daily.last_at IS 'Last of them.';
