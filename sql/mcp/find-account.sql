-- Purpose: accounts by id, domain or name, the best match first. Grain: one row per account.
-- Parameters: $1 text. Readers: src/mcp/read-tools.ts.
SELECT id AS account_id, name, domain
FROM main.accounts
WHERE CAST(id AS VARCHAR) = $1 OR lower(domain) = lower($1) OR contains(lower(strip_accents(name)), lower(strip_accents($1)))
ORDER BY CAST(id AS VARCHAR) = $1 DESC, lower(domain) = lower($1) DESC, lower(name) = lower($1) DESC, main_score DESC NULLS LAST, id
LIMIT 10;
