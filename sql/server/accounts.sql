-- Purpose: accounts for a list, those with the highest score first. Grain: one row per account.
-- Parameters: $1 part of the name, domain or industry ('': all), $2 number of rows, $3 rows to leave out.
-- Readers: src/server/figures/accounts.ts.
WITH chosen AS (
  SELECT id, name, domain, type, priority, industry, main_score, count(*) OVER () AS total
  FROM main.accounts
  WHERE $1 = '' OR contains(lower(strip_accents(concat_ws(' ', name, domain, industry))), lower(strip_accents($1)))
  ORDER BY main_score DESC NULLS LAST, id
  LIMIT $2 OFFSET $3
),
latest AS (
  SELECT account_id, count(*) FILTER (date > now() - INTERVAL 720 HOUR) AS signals, max(date) AS last_at
  FROM main.signals SEMI JOIN chosen ON chosen.id = signals.account_id
  GROUP BY account_id
)
SELECT
  CAST(chosen.id AS VARCHAR) AS account_id,
  chosen.name,
  chosen.domain,
  chosen.type,
  chosen.priority,
  chosen.industry,
  chosen.main_score,
  coalesce(latest.signals, 0) AS signals_30_days,
  latest.last_at AS last_signal_at,
  chosen.total
FROM chosen
LEFT JOIN latest ON latest.account_id = chosen.id
ORDER BY chosen.main_score DESC NULLS LAST, chosen.id;
