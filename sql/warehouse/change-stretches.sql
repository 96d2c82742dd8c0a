-- Purpose: stretches of changes of some tables that reach beyond a number. Grain: one row per stretch, by number.
-- Parameters: $1 number; $2 tables; $3 most stretches. Readers: src/warehouse/read/changes/read-changes.ts.
SELECT greatest(first_n, $1 + 1) AS first_n, last_n, table_name, change, run_id, "at"
FROM sync.change_batches
WHERE last_n > $1 AND table_name IN (SELECT unnest($2))
ORDER BY first_n
LIMIT $3;
