-- Purpose: whether the mirror holds an insight of an account. Grain: one row, or none. Parameters: $1 account id as text.
-- Readers: src/sync/run/apply-response.ts.
SELECT 1 AS held FROM main.account_insights WHERE account_id = CAST($1 AS BIGINT);
