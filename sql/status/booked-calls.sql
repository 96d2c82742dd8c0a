-- Purpose: of given requests, those that the ledger holds. Grain: one row per request. Parameters: $1 request ids, a JSON
-- list. Readers: src/warehouse/read/read-credits.ts.
SELECT request_id
FROM sync.requests
WHERE request_id IN (SELECT unnest(from_json($1, '["VARCHAR"]')));
