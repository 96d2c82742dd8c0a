-- Purpose: number of records (table, company, id) that a walk returned, repeated ones counted once. Grain: one row.
-- Parameters: walk_id. Readers: src/warehouse/load/walks.ts.
SELECT count(*) AS "rows" FROM (SELECT DISTINCT table_name, company_id, id FROM sync.walk_seen WHERE walk_id = $1);
