-- Purpose: text columns of the view `part`. Grain: at most one row. Parameters: none.
-- Readers: src/warehouse/forget/scan.ts.
SELECT '"part"' AS path, list('"' || replace(column_name, '"', '""') || '"' ORDER BY column_index) AS columns
FROM duckdb_columns()
WHERE table_name = 'part' AND NOT internal AND data_type IN ('VARCHAR', 'JSON', 'VARCHAR[]')
GROUP BY ALL
HAVING count(*) > 0;
