-- Purpose: requests of a run that cost a credit for certain. Grain: one row per request.
-- Parameters: $1 run. Readers: src/queue/remote/loader/take-over.ts.
SELECT request_id
FROM sync.requests
WHERE run_id = $1 AND charge = 'spent'
