-- Purpose: freshness of each stream, and whether it is proven complete. Grain: one row per stream.
-- A scope is the organization, a followed company or account. oldest_check_at belongs to the scope checked longest
-- ago.
-- Readers: src/warehouse/read/read-status.ts.
SELECT
  stream,
  any_value(scopes) AS scopes,
  any_value(walking_scopes) AS walking,
  any_value(failed_scopes) AS failed,
  any_value(unchecked_scopes) AS never_checked,
  any_value(last_checked_at) AS last_check_at,
  any_value(oldest_checked_at) AS oldest_check_at,
  any_value(oldest_walked_at) AS oldest_walk_at,
  any_value(due_at) AS due_at,
  any_value(total_count) AS total_count,
  any_value(error) AS error,
  bool_and(complete) AS complete,
  CASE WHEN bool_and(complete) THEN 0 ELSE any_value(unconfirmed) FILTER (NOT complete) END AS unconfirmed,
  any_value(unconfirmed_because) AS because
FROM marts.freshness
GROUP BY stream
ORDER BY stream;
