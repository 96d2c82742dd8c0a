-- Purpose: whether each stream is proven complete, and the reason if not. Grain: one row per stream.
-- scopes: number of its known lists or records. Readers: src/sync/run/state/completeness.ts.
SELECT
  stream,
  bool_and(complete) AS complete,
  CASE WHEN bool_and(complete) THEN 0 ELSE any_value(unconfirmed) FILTER (NOT complete) END AS unconfirmed,
  any_value(unconfirmed_because) AS because,
  any_value(scopes) AS scopes
FROM marts.freshness
GROUP BY stream;
