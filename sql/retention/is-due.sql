-- Purpose: whether the ledger holds anything that may be older than the time to keep. The statements that remove it cost ten
-- times as much as this question. Grain: one row, column due.
-- Parameters: $1 now, $2 days to keep. Readers: src/warehouse/file/upkeep/history-retention.ts.
SELECT
  coalesce(
    least(
      (SELECT min(started_at) FROM sync.runs),
      (SELECT min(started_at) FROM sync.requests),
      (SELECT min(rejected_at) FROM sync.rejects),
      (SELECT min(last_seen_at) FROM sync.schema_drift),
      (SELECT min(_synced_at) FROM main.usage_snapshots),
      (SELECT min(_synced_at) FROM main.usage_breakdown),
      (SELECT min(_synced_at) FROM main.usage_limits),
      (SELECT min(_synced_at) FROM main.usage_requests),
      (SELECT min(valid_to) FROM history.usage_snapshots),
      (SELECT min(valid_to) FROM history.usage_breakdown),
      (SELECT min(valid_to) FROM history.usage_limits),
      (SELECT min(valid_to) FROM history.usage_requests)
    ) < $1::TIMESTAMPTZ - to_days(greatest($2::INTEGER, 31)),
    FALSE
  ) AS due;
