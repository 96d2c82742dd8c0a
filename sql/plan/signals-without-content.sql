-- Purpose: signals whose detail was not fetched since their last change, newest event first.
-- Grain: one row per signal. Parameters: $1 highest number of rows. Readers: src/sync/plan/mirror-view.ts.
SELECT
  CAST(signals.id AS VARCHAR) AS id,
  CAST(signals.account_id AS VARCHAR) AS account_id,
  signals.updated_at
FROM main.signals
LEFT JOIN sync.stream_state AS state
  ON state.stream = 'signals' AND state.scope = 'detail:' || signals.id
WHERE
  state.scope IS NULL
  OR epoch_ms(state.watermark) IS DISTINCT FROM epoch_ms(signals.updated_at)
ORDER BY signals.date DESC, signals.id DESC
LIMIT $1
