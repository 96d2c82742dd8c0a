-- Purpose: whether each stream is proven complete, and the reason if not. Grain: one row per stream.
-- scopes: number of its known lists or records. Readers: src/sync/run/state/completeness.ts.
SELECT
  stream,
  any_value(complete) AS complete,
  any_value(unconfirmed) AS unconfirmed,
  any_value(unconfirmed_because) AS because,
  any_value(scopes) AS scopes
FROM marts.freshness
GROUP BY stream;
