-- Purpose: changes behind a number. Grain: one row per table that has any. Parameters: $1 number.
-- Readers: src/deliver/source.ts.
SELECT table_name, CAST(sum(last_n - greatest(first_n, $1 + 1) + 1) AS BIGINT) AS changes
FROM sync.change_batches
WHERE last_n > $1
GROUP BY table_name;
