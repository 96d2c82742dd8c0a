-- Purpose: when the service last answered that it does not know an input. Grain: at most one row. Parameters: $1 input.
-- Readers: src/sync/lookup/lookup-in-mirror.ts.
SELECT resolved_at
FROM main.company_inputs
WHERE input = $1 AND company_id IS NULL AND resolved_at IS NOT NULL;
