-- Purpose: whether a 404 of a lookup may be believed without another request: the service has answered a request of this mirror
-- (a 200, or the 400 of src/sync/request/refusals.ts), and the question that shows its address again is not known to be free. It
-- is free where an insight was found and the organization still has Full Access. Grain: one row. Readers: src/sync/lookup/lookup-in-mirror.ts.
SELECT
  exists(FROM sync.requests WHERE status = 200 OR (status = 400 AND endpoint = '/v1/account-insights'))
  AND NOT (
    exists(FROM main.account_insights WHERE status = 'found')
    AND exists(FROM sync.capabilities WHERE name = 'tier' AND (value ->> '$.tier') = 'full')
  ) AS answered
