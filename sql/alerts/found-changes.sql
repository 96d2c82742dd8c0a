-- Purpose: the rows of a rule's query over the changes of a stretch, each with its change. Grain: one row per row of the
-- query, in the order of the changes. Markers in braces are replaced before it runs: numbers of the program, and the
-- user's query, which runs in a process of its own (src/warehouse/user-sql). Readers: src/alerts/events/change-events.ts.
WITH changes AS (
  SELECT c.n, b."at", b.run_id, b.table_name, b.change, c.key_1 AS key, c.key_2, c.key_3
  FROM (FROM sync.changes WHERE n > {after} AND n <= {last}) AS c
  JOIN (FROM sync.change_batches WHERE last_n > {after} AND first_n <= {last}) AS b ON c.n BETWEEN b.first_n AND b.last_n
),
found AS (
{query}
)
SELECT changes.n, changes."at", changes.table_name, changes.change, changes.key, changes.key_2, changes.key_3, found.*
FROM found
JOIN changes ON changes.n = found.n
ORDER BY changes.n
LIMIT {most}
