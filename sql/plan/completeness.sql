-- Purpose: whether each stream is proven to be complete, and why not. Grain: one row per stream.
-- scopes: lists or records of it that are known. Readers: src/sync/run/completeness.ts.
SELECT
  stream,
  any_value(complete) AS complete,
  any_value(unconfirmed) AS unconfirmed,
  any_value(unconfirmed_because) AS because,
  any_value(scopes) AS scopes
FROM marts.freshness
GROUP BY stream;
