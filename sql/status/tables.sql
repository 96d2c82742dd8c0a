-- Purpose: rows of each table and time of its last change. Grain: one row per table of the contract.
-- Readers: src/warehouse/read/read-status.ts.
-- each table (all), joined by UNION ALL
SELECT {place} AS place, '{table}' AS "table", count(*) AS "rows", max(_synced_at) AS last_change_at FROM main.{table}
-- end
ORDER BY place;
