-- Purpose: removes what is older than the temporary table ledger_cutoff says. Kept whatever their age: runs without an
-- end, the newest run, the runs that forecasts learn from (sql/plan/past-runs.sql, twenty), what belongs to a kept run,
-- and the last reading of each kind. Adds what it removes to the sums in sync.removed_requests and sync.removed_runs.
-- Grain: several statements of one transaction. Readers: src/warehouse/file/upkeep/history-retention.ts.
CREATE OR REPLACE TEMP TABLE gone_runs AS
WITH learnt_from AS (
  SELECT run_id
  FROM sync.runs
  WHERE mode IN ('full', 'incremental') AND status = 'done' AND forecast IS NOT NULL AND summary IS NOT NULL
  ORDER BY started_at DESC
  LIMIT 20
)
SELECT run_id
FROM sync.runs
WHERE started_at < (SELECT cutoff FROM ledger_cutoff)
  AND started_at < (SELECT max(started_at) FROM sync.runs)
  AND status <> 'running'
  AND run_id NOT IN (SELECT run_id FROM learnt_from);

INSERT INTO sync.removed_runs
SELECT status, count(*), min(started_at), max(coalesce(finished_at, started_at))
FROM sync.runs
WHERE run_id IN (SELECT run_id FROM gone_runs)
GROUP BY status
ON CONFLICT (status) DO UPDATE SET
  runs = removed_runs.runs + excluded.runs,
  first_at = least(removed_runs.first_at, excluded.first_at),
  last_at = greatest(removed_runs.last_at, excluded.last_at);
DELETE FROM sync.runs WHERE run_id IN (SELECT run_id FROM gone_runs);

CREATE OR REPLACE TEMP TABLE gone_requests AS
SELECT request_id
FROM sync.requests
WHERE started_at < (SELECT cutoff FROM ledger_cutoff) AND run_id NOT IN (SELECT run_id FROM sync.runs);

INSERT INTO sync.removed_requests
SELECT
  endpoint,
  coalesce(CAST(status AS VARCHAR), 'none'),
  charge,
  count(*),
  sum(duration_ms),
  CAST(sum("rows") AS BIGINT),
  CAST(sum(bytes) AS BIGINT),
  min(started_at),
  max(started_at)
FROM sync.requests
WHERE request_id IN (SELECT request_id FROM gone_requests)
GROUP BY ALL
ON CONFLICT (endpoint, status, charge) DO UPDATE SET
  requests = removed_requests.requests + excluded.requests,
  duration_ms = removed_requests.duration_ms + excluded.duration_ms,
  "rows" = removed_requests."rows" + excluded."rows",
  bytes = removed_requests.bytes + excluded.bytes,
  first_at = least(removed_requests.first_at, excluded.first_at),
  last_at = greatest(removed_requests.last_at, excluded.last_at);
DELETE FROM sync.requests WHERE request_id IN (SELECT request_id FROM gone_requests);

DELETE FROM sync.rejects
WHERE rejected_at < (SELECT cutoff FROM ledger_cutoff) AND run_id NOT IN (SELECT run_id FROM sync.runs);
DELETE FROM sync.schema_drift WHERE last_seen_at < (SELECT cutoff FROM ledger_cutoff);

DELETE FROM main.usage_snapshots
WHERE _synced_at < (SELECT cutoff FROM ledger_cutoff) AND captured_at < (
  SELECT coalesce(max(captured_at) FILTER (remaining IS NOT NULL), max(captured_at)) FROM main.usage_snapshots
);
DELETE FROM main.usage_breakdown
WHERE _synced_at < (SELECT cutoff FROM ledger_cutoff) AND (group_by, captured_at) NOT IN (
  SELECT (group_by, max(captured_at)) FROM main.usage_breakdown GROUP BY group_by
);
DELETE FROM main.usage_limits
WHERE _synced_at < (SELECT cutoff FROM ledger_cutoff)
  AND captured_at < (SELECT max(captured_at) FROM main.usage_limits);
-- The newest entry shows the next read of the request history where the known entries begin.
DELETE FROM main.usage_requests
WHERE _synced_at < (SELECT cutoff FROM ledger_cutoff) AND id < (SELECT max(id) FROM main.usage_requests);
DELETE FROM history.usage_snapshots WHERE valid_to < (SELECT cutoff FROM ledger_cutoff);
DELETE FROM history.usage_breakdown WHERE valid_to < (SELECT cutoff FROM ledger_cutoff);
DELETE FROM history.usage_limits WHERE valid_to < (SELECT cutoff FROM ledger_cutoff);
DELETE FROM history.usage_requests WHERE valid_to < (SELECT cutoff FROM ledger_cutoff);

DROP TABLE gone_requests;
DROP TABLE gone_runs;
DROP TABLE ledger_cutoff;
