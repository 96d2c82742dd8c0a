-- Purpose: whether each stream is proven to be complete, and why not. Grain: one row per stream.
-- Readers: src/sync/run/completeness.ts.
SELECT
  stream,
  any_value(complete) AS complete,
  any_value(unconfirmed) AS unconfirmed,
  any_value(unconfirmed_because) AS because
FROM marts.freshness
GROUP BY stream;
