-- The ledger names operations as the API document does; rows from before had shorter names of parameters.
CREATE TEMP TABLE renamed AS
SELECT * FROM (VALUES
  ('/v1/accounts/{id}', '/v1/accounts/{accountId}'),
  ('/v1/contacts/{id}', '/v1/contacts/{contactId}'),
  ('/v1/signals/{id}', '/v1/signals/{signalId}'),
  ('/v1/companies/by-input/{input}', '/v1/companies/by-input/{companyInputId}')
) AS names(before, after);

UPDATE sync.requests
SET endpoint = after
FROM renamed
WHERE endpoint = before;

-- A sum under the older name joins the one under the present name.
INSERT INTO sync.removed_requests
SELECT
  after, status, charge, requests, duration_ms, "rows", bytes, first_at, last_at
FROM sync.removed_requests
INNER JOIN renamed ON endpoint = before
ON CONFLICT (endpoint, status, charge) DO UPDATE SET
  requests = removed_requests.requests + excluded.requests,
  duration_ms = removed_requests.duration_ms + excluded.duration_ms,
  "rows" = removed_requests."rows" + excluded."rows",
  bytes = removed_requests.bytes + excluded.bytes,
  first_at = least(removed_requests.first_at, excluded.first_at),
  last_at = greatest(removed_requests.last_at, excluded.last_at);
DELETE FROM sync.removed_requests
USING renamed
WHERE endpoint = before;
DROP TABLE renamed;
