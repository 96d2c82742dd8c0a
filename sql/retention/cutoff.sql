-- Purpose: the time before which the ledger is removed: the start of a day (UTC), so that sums by day are of whole days.
-- Never removed: the last 31 days, in which any credit period of budgets begins, and the period of the last reading.
-- Grain: one row, in the temporary table ledger_cutoff. Parameters: $1 now, $2 days to keep.
-- Readers: src/warehouse/file/upkeep/history-retention.ts.
CREATE OR REPLACE TEMP TABLE ledger_cutoff AS
SELECT
  date_trunc('day', least(
    $1::TIMESTAMPTZ - to_days(greatest($2::INTEGER, 31)),
    (SELECT arg_max(resets_at, captured_at) - INTERVAL 1 MONTH FROM main.usage_snapshots WHERE remaining IS NOT NULL)
  )) AS cutoff;
