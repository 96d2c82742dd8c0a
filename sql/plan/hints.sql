-- Purpose: signals that arose after the last check of a company's list and announce a change of that list. An older signal
-- that only arrives later, as in a first sync of many runs, announces a change that the check has read already.
-- A signal arose later if it is dated after the check. If it is dated before, its date may be a day without a time, or the
-- service's clock may be slow: then it arose later if the check's run read signals after that date and did not find it, and
-- it is newer than every signal that was mirrored at the check. Only such signals need the times and the newest signals of
-- all, which takes a scan of the table. A signal that was first synced in the future, by a clock that was ahead, counts only by
-- its own date: else it would hint in each sync until its time has come.
-- Grain: one row per stream and company. Parameters: $1 JSON list of {type, stream}, $2 now. Readers:
-- src/sync/plan/mirror-view.ts.
WITH hint AS (
  SELECT unnest(from_json($1, '[{"type": "VARCHAR", "stream": "VARCHAR"}]'), recursive := true)
),

checked AS (
  SELECT
    stream,
    scope,
    run_id,
    checked_at
  FROM sync.stream_state
  WHERE stream IN (SELECT hint.stream FROM hint) AND checked_at IS NOT NULL
),

arrived_later AS MATERIALIZED (
  SELECT
    hint.stream,
    accounts.company_id,
    signals.id,
    signals.type,
    signals.created_at,
    checked.run_id,
    checked.checked_at,
    coalesce(signals.created_at, signals._first_synced_at) > checked.checked_at AS dated_after
  FROM main.signals
  INNER JOIN hint ON signals.type = hint.type
  INNER JOIN main.accounts ON signals.account_id = accounts.id
  INNER JOIN checked ON hint.stream = checked.stream AND accounts.company_id = checked.scope
  WHERE
    signals._first_synced_at > (SELECT min(checked.checked_at) FROM checked)
    AND signals._first_synced_at > checked.checked_at
    AND signals._run_id <> checked.run_id
    AND (signals._first_synced_at <= $2 OR signals.created_at > checked.checked_at)
),

unclear_check AS MATERIALIZED (
  SELECT DISTINCT
    run_id,
    checked_at
  FROM arrived_later
  WHERE NOT dated_after
),

arrived AS (
  SELECT
    _first_synced_at AS arrived_at,
    max({'created_at': created_at, 'id': id}) AS newest
  FROM main.signals
  WHERE created_at IS NOT NULL AND EXISTS (FROM unclear_check)
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
  WHERE stream = 'signals' AND scope = '' AND status = 200 AND run_id IN (SELECT unclear_check.run_id FROM unclear_check)
  GROUP BY run_id
),

at_check AS (
  SELECT
    unclear_check.run_id,
    unclear_check.checked_at,
    signal_read.read_at,
    mirrored.newest
  FROM unclear_check
  ASOF LEFT JOIN mirrored ON unclear_check.checked_at >= mirrored.arrived_at
  LEFT JOIN signal_read ON unclear_check.run_id = signal_read.run_id
)

SELECT
  arrived_later.stream,
  arrived_later.company_id,
  count(*) AS signal_count,
  min(arrived_later.type) AS type
FROM arrived_later
LEFT JOIN at_check ON arrived_later.run_id = at_check.run_id AND arrived_later.checked_at = at_check.checked_at
WHERE
  arrived_later.dated_after
  OR (
    arrived_later.created_at < at_check.read_at
    AND {'created_at': arrived_later.created_at, 'id': arrived_later.id} > at_check.newest
  )
GROUP BY arrived_later.stream, arrived_later.company_id
