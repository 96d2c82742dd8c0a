-- Purpose: charge-back: what each API key of the organization used, by day and endpoint, from the service's request history.
-- Grain: one row per API key, day (UTC) and endpoint. The history reaches back `usage_history_days` from the first sync.
-- Readers: operators, finance.
CREATE OR REPLACE VIEW marts.usage_by_key AS
WITH used AS (
  SELECT
    coalesce(api_key_id, 'unknown') AS api_key_id,
    CAST(occurred_at AT TIME ZONE 'UTC' AS DATE) AS day,
    endpoint,
    count(*) AS requests,
    count(*) FILTER (successful) AS credits,
    count(*) FILTER (NOT successful) AS failed,
    min(occurred_at) AS first_at,
    max(occurred_at) AS last_at
  FROM main.usage_requests
  GROUP BY 1, 2, 3
)
SELECT
  api_key_id,
  day,
  endpoint,
  requests,
  credits,
  failed,
  round(credits / nullif(sum(credits) OVER (PARTITION BY day), 0), 4) AS share_of_day,
  first_at,
  last_at
FROM used;

COMMENT ON VIEW marts.usage_by_key IS 'Charge-back: what each API key used, from the service''s request history. One row per API key, day (UTC) and endpoint.';
COMMENT ON COLUMN marts.usage_by_key.api_key_id IS 'API key; unknown where the service does not name it.';
COMMENT ON COLUMN marts.usage_by_key.day IS 'Day (UTC).';
COMMENT ON COLUMN marts.usage_by_key.endpoint IS 'Endpoint, as the service names it.';
COMMENT ON COLUMN marts.usage_by_key.requests IS 'Requests.';
COMMENT ON COLUMN marts.usage_by_key.credits IS 'Credits spent: one per successful request.';
COMMENT ON COLUMN marts.usage_by_key.failed IS 'Requests that were refused, at no credit.';
COMMENT ON COLUMN marts.usage_by_key.share_of_day IS 'Share of the organization''s credits of that day, 0 to 1; NULL on days without any.';
COMMENT ON COLUMN marts.usage_by_key.first_at IS 'First request.';
COMMENT ON COLUMN marts.usage_by_key.last_at IS 'Last request.';
