-- Purpose: whether the service has ever answered a request of this mirror, so that its address is right: a 200, or the 400
-- of src/sync/request/address-check.ts. Grain: one row. Readers: src/sync/lookup/mirror-answer.ts.
SELECT exists(
  FROM sync.requests WHERE status = 200 OR (status = 400 AND endpoint = '/v1/account-insights')
) AS answered
