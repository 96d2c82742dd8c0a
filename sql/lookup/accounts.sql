-- Purpose: accounts that a name or domain names, and when the service last showed the insight of each; NULL: never. A domain
-- comes before a name. Grain: one row per account, the highest score first, at most 25. Parameters: $1 name, $2 domains that
-- the text may mean, most specific first, a JSON list. Readers: src/sync/lookup/lookup-in-mirror.ts.
WITH domains AS (
  SELECT from_json($2, '["VARCHAR"]') AS names
),
matches AS (
  SELECT accounts.id, accounts.main_score, list_position(domains.names, lower(accounts.domain)) AS rank
  FROM main.accounts, domains
  WHERE list_contains(domains.names, lower(accounts.domain))
  UNION ALL
  SELECT id, main_score, 1000 FROM main.accounts WHERE contains(lower(name), lower($1))
)
SELECT
  CAST(matches.id AS VARCHAR) AS id,
  accounts.name,
  accounts.domain,
  greatest(
    insight._synced_at,
    (
      SELECT max(checked_at) FROM sync.stream_state
      WHERE stream = 'account_insights' AND scope = CAST(matches.id AS VARCHAR) AND insight.account_id IS NOT NULL
    )
  ) AS as_of,
  (SELECT checked_at FROM sync.stream_state WHERE stream = 'accounts' AND scope = '' AND walked_at IS NOT NULL) AS listed_at
FROM matches
JOIN main.accounts ON accounts.id = matches.id
LEFT JOIN main.account_insights AS insight ON insight.account_id = matches.id AND insight.status = 'found'
WHERE matches.rank = (SELECT min(rank) FROM matches)
ORDER BY matches.main_score DESC NULLS LAST, matches.id
LIMIT 25;
