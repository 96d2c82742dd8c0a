-- Purpose: notes the result of a check. Parameters: check, severity, status, failing, sample, run_id, at.
-- Readers: src/warehouse/file/checks/run-checks.ts.
INSERT INTO sync.checks VALUES ($1, $2, $3, $4, $5, $6, $7);
