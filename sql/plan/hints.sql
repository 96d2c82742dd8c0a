-- Purpose: signals dated after the last check of a company's list that announce a change of that list. An older
-- signal that only arrives later, as in a first sync of many runs, announces a change that the check has read
-- already.
-- Grain: one row per stream and company. Parameters: $1 JSON list of {type, stream}. Readers:
-- src/sync/plan/mirror-view.ts.
WITH hint AS (
  SELECT unnest(from_json($1, '[{"type": "VARCHAR", "stream": "VARCHAR"}]'), recursive := true)
)
SELECT
  hint.stream,
  accounts.company_id,
  count(*) AS signal_count,
  min(signals.type) AS type
FROM main.signals
INNER JOIN hint ON signals.type = hint.type
INNER JOIN main.accounts ON signals.account_id = accounts.id
INNER JOIN sync.stream_state AS state ON hint.stream = state.stream AND accounts.company_id = state.scope
WHERE
  signals._first_synced_at > state.checked_at
  AND coalesce(signals.created_at, signals._first_synced_at) > state.checked_at
  AND signals._run_id <> state.run_id
GROUP BY hint.stream, accounts.company_id
