-- Purpose: signals that arose after the last check of a company's list and announce a change of that list. An older signal
-- that only arrives later, as in a first sync of many runs, announces a change that the check has read already.
-- A signal arose later if it is dated after the check. If it is dated before, its date may be a day without a time, or the
-- service's clock may be slow: then it arose later if the check's run read signals after that date and did not find it, and
-- it is newer than every signal that was mirrored at the check.
-- Grain: one row per stream and company. Parameters: $1 JSON list of {type, stream}. Readers:
-- src/sync/plan/mirror-view.ts.
WITH hint AS (
  SELECT unnest(from_json($1, '[{"type": "VARCHAR", "stream": "VARCHAR"}]'), recursive := true)
),

arrived AS (
  SELECT
    _first_synced_at AS arrived_at,
    max({'created_at': created_at, 'id': id}) AS newest
  FROM main.signals
  WHERE created_at IS NOT NULL
  GROUP BY _first_synced_at
),

mirrored AS (
  SELECT
    arrived_at,
    max(newest) OVER (ORDER BY arrived_at) AS newest
  FROM arrived
),

signal_read AS (
  SELECT
    run_id,
    min(started_at) AS read_at
  FROM sync.requests
  WHERE stream = 'signals' AND scope = '' AND status = 200
  GROUP BY run_id
),

checked AS (
  SELECT
    state.stream,
    state.scope,
    state.run_id,
    state.checked_at,
    signal_read.read_at,
    mirrored.newest
  FROM sync.stream_state AS state
  ASOF LEFT JOIN mirrored ON state.checked_at >= mirrored.arrived_at
  LEFT JOIN signal_read ON state.run_id = signal_read.run_id
  WHERE state.stream IN (SELECT hint.stream FROM hint)
)

SELECT
  hint.stream,
  accounts.company_id,
  count(*) AS signal_count,
  min(signals.type) AS type
FROM main.signals
INNER JOIN hint ON signals.type = hint.type
INNER JOIN main.accounts ON signals.account_id = accounts.id
INNER JOIN checked ON hint.stream = checked.stream AND accounts.company_id = checked.scope
WHERE
  signals._first_synced_at > checked.checked_at
  AND signals._run_id <> checked.run_id
  AND (
    coalesce(signals.created_at, signals._first_synced_at) > checked.checked_at
    OR (
      signals.created_at < checked.read_at
      AND {'created_at': signals.created_at, 'id': signals.id} > checked.newest
    )
  )
GROUP BY hint.stream, accounts.company_id
