-- Purpose: number of distinct records that a walk returned. Grain: one row.
-- Parameters: walk_id. Readers: src/warehouse/load/walks.ts.
SELECT count(*) AS "rows" FROM (SELECT DISTINCT table_name, company_id, id FROM sync.walk_seen WHERE walk_id = $1);
