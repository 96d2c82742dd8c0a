-- Purpose: recent request rate. Grain: one row per minute with a request, of the last three hours that have any;
-- oldest first. Readers: src/server/figures/overview.ts.
SELECT
  date_trunc('minute', started_at) AS minute,
  count(*) AS requests,
  count(*) FILTER (status = 429) AS refused
FROM sync.requests
WHERE started_at > (SELECT max(started_at) FROM sync.requests) - INTERVAL 3 HOUR
GROUP BY 1
ORDER BY 1;
