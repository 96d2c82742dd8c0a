-- Purpose: the last run in the snapshot, and the credits it spent. Grain: at most one row. Parameters: none.
-- Readers: src/deliver/source.ts.
SELECT r.run_id, CAST(coalesce(sum(q.credits), 0) AS BIGINT) AS credits
FROM (SELECT run_id FROM sync.runs ORDER BY started_at DESC, run_id DESC LIMIT 1) AS r
LEFT JOIN sync.requests AS q ON q.run_id = r.run_id
GROUP BY r.run_id;
