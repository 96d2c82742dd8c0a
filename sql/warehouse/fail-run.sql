-- Purpose: notes in a run that has ended well what its checks found. Parameters: run_id, error.
-- Readers: src/warehouse/file/publish-if-changed.ts.
UPDATE sync.runs
SET status = 'partial', error = $2, summary = json_merge_patch(summary, '{"status": "partial"}')
WHERE run_id = $1 AND status IN ('done', 'stopped');
