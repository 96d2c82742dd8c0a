-- Purpose: results of the checks before the last publish, the worst first. Grain: one row per check. Parameters: none.
-- Readers: src/warehouse/read/check-results.ts.
SELECT "check", severity, status, failing, CAST(sample AS VARCHAR) AS sample, run_id, "at"
FROM sync.checks
ORDER BY status = 'passed', severity, "check";
