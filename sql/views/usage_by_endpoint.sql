-- Purpose: requests and credits by endpoint, from this mirror's ledger and from the service's report.
-- Grain: one row per source and endpoint. The service names endpoints in its own way, so the two are not joined.
-- Readers: operators.
CREATE OR REPLACE VIEW marts.usage_by_endpoint AS
WITH last_breakdown AS (
  SELECT key, requests, successful, failed, captured_at
  FROM main.usage_breakdown
  WHERE group_by = 'endpoint'
    AND captured_at = (SELECT max(captured_at) FROM main.usage_breakdown WHERE group_by = 'endpoint')
),
kept AS (
  SELECT
    endpoint,
    count(*) AS requests,
    count(*) FILTER (status = 200) AS successful,
    count(*) FILTER (charge = 'spent') AS credits,
    count(*) FILTER (charge = 'ambiguous') AS ambiguous,
    sum("rows") AS "rows",
    sum(bytes) AS bytes,
    sum(duration_ms) AS duration_ms,
    quantile_cont(duration_ms, 0.95) AS p95_ms,
    min(started_at) AS first_at,
    max(started_at) AS last_at
  FROM sync.requests
  GROUP BY endpoint
),
removed AS (
  SELECT
    endpoint,
    sum(requests) AS requests,
    sum(requests) FILTER (status = '200') AS successful,
    sum(requests) FILTER (charge = 'spent') AS credits,
    sum(requests) FILTER (charge = 'ambiguous') AS ambiguous,
    sum("rows") AS "rows",
    sum(bytes) AS bytes,
    sum(duration_ms) AS duration_ms,
    NULL AS p95_ms,
    min(first_at) AS first_at,
    max(last_at) AS last_at
  FROM sync.removed_requests
  GROUP BY endpoint
),
ours AS (
  FROM kept
  UNION ALL
  FROM removed
)
SELECT
  'mirror' AS source,
  endpoint,
  CAST(sum(requests) AS BIGINT) AS requests,
  CAST(coalesce(sum(successful), 0) AS BIGINT) AS successful,
  CAST(sum(requests) - coalesce(sum(successful), 0) AS BIGINT) AS failed,
  CAST(coalesce(sum(credits), 0) AS BIGINT) AS credits,
  CAST(coalesce(sum(ambiguous), 0) AS BIGINT) AS ambiguous,
  CAST(sum("rows") AS BIGINT) AS "rows",
  CAST(sum(bytes) AS BIGINT) AS bytes,
  round(sum("rows") / nullif(sum(credits), 0), 1) AS rows_per_credit,
  round(sum(duration_ms) / sum(requests), 1) AS mean_ms,
  round(max(p95_ms), 1) AS p95_ms,
  min(first_at) AS first_at,
  max(last_at) AS last_at
FROM ours
GROUP BY endpoint
UNION ALL
SELECT
  'service', key, requests, successful, failed, successful, NULL, NULL, NULL, NULL, NULL, NULL, NULL, captured_at
FROM last_breakdown;

COMMENT ON VIEW marts.usage_by_endpoint IS 'Requests and credits by endpoint, by this mirror''s ledger and by the service. One row per source and endpoint.';
COMMENT ON COLUMN marts.usage_by_endpoint.source IS 'mirror: requests of this mirror since it began. service: the last breakdown the service reported, for its window.';
COMMENT ON COLUMN marts.usage_by_endpoint.endpoint IS 'Endpoint, as the source names it.';
COMMENT ON COLUMN marts.usage_by_endpoint.requests IS 'Requests.';
COMMENT ON COLUMN marts.usage_by_endpoint.successful IS 'Requests answered with 200.';
COMMENT ON COLUMN marts.usage_by_endpoint.failed IS 'All others.';
COMMENT ON COLUMN marts.usage_by_endpoint.credits IS 'Credits spent: one per 200.';
COMMENT ON COLUMN marts.usage_by_endpoint.ambiguous IS 'Requests that ended without an answer and may have cost a credit; NULL for the service.';
COMMENT ON COLUMN marts.usage_by_endpoint."rows" IS 'Records received; NULL for the service.';
COMMENT ON COLUMN marts.usage_by_endpoint.bytes IS 'Bytes received; NULL for the service.';
COMMENT ON COLUMN marts.usage_by_endpoint.rows_per_credit IS 'Records per credit; NULL for the service.';
COMMENT ON COLUMN marts.usage_by_endpoint.mean_ms IS 'Mean duration in milliseconds; NULL for the service.';
COMMENT ON COLUMN marts.usage_by_endpoint.p95_ms IS 'Duration that 95% of the requests stay below, in milliseconds, of the requests in sync.requests; NULL for the service.';
COMMENT ON COLUMN marts.usage_by_endpoint.first_at IS 'First request; NULL for the service.';
COMMENT ON COLUMN marts.usage_by_endpoint.last_at IS 'Last request; for the service, when it reported the figures.';
