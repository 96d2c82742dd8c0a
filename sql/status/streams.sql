-- Purpose: how fresh each stream is, and whether it is proven to be complete. Grain: one row per stream.
-- A scope is the organization, a company or an account that is followed. oldest_check_at is the scope that is furthest behind.
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
  any_value(total_count) AS total_count,
  any_value(error) AS error,
  any_value(complete) AS complete,
  any_value(unconfirmed) AS unconfirmed,
  any_value(unconfirmed_because) AS unconfirmed_because
FROM marts.freshness
GROUP BY stream
ORDER BY stream;
