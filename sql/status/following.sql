-- Purpose: what each followed input resolved to, and the last failure of asking. Grain: one row per input that was asked for.
-- Parameters: $1 inputs, a JSON list. Readers: jobs/following.ts.
WITH wanted AS (
  SELECT unnest(from_json($1, '["VARCHAR"]')) AS input
),
last_request AS (
  SELECT
    scope,
    max_by(status, started_at) AS status,
    max_by(error, started_at) AS error
  FROM sync.requests
  WHERE stream = 'companies' AND starts_with(scope, 'input:')
  GROUP BY scope
)
SELECT
  wanted.input,
  resolved.company_id,
  resolved.status,
  resolved.resolved_at,
  CASE
    WHEN last_request.status IN (200, 404) THEN NULL
    ELSE coalesce(last_request.error, 'HTTP ' || last_request.status)
  END AS error
FROM wanted
LEFT JOIN main.company_inputs AS resolved ON resolved.input = wanted.input
LEFT JOIN last_request ON last_request.scope = 'input:' || wanted.input;
