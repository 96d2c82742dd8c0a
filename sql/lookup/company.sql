-- Purpose: the company that an input names, and when the service last showed its profile. An input that several companies
-- match equally well names none. Grain: at most one row. Parameters: $1 input, $2 the input as a bare address, $3 its host.
-- Readers: src/sync/lookup/lookup-in-mirror.ts.
WITH bare AS (
  SELECT
    id, main_stock_symbol, domain,
    regexp_replace(
      regexp_replace(
        regexp_replace(lower(trim(professional_network_url)), '^([a-z][a-z0-9+.-]*://)?(www\.)?', ''), '[?#].*$', '', 's'
      ),
      '/+$', ''
    ) AS network,
    regexp_replace(
      regexp_replace(
        regexp_replace(lower(trim(funding_data_url)), '^([a-z][a-z0-9+.-]*://)?(www\.)?', ''), '[?#].*$', '', 's'
      ),
      '/+$', ''
    ) AS funding
  FROM main.companies
),
matches AS (
  SELECT id, 1 AS rank FROM bare WHERE id = $1
  UNION ALL
  SELECT company_id, 2 FROM main.company_inputs WHERE input = $1 AND company_id IS NOT NULL
  UNION ALL
  SELECT id, 3 FROM bare WHERE upper(main_stock_symbol) = upper($1)
  UNION ALL
  SELECT id, 4 FROM bare WHERE network = $2
  UNION ALL
  SELECT id, 5 FROM bare WHERE funding = $2
  UNION ALL
  SELECT id, 6 FROM bare WHERE lower(domain) = $3
),
best AS (
  SELECT any_value(id) AS id
  FROM matches
  WHERE rank = (SELECT min(rank) FROM matches)
  HAVING count(DISTINCT id) = 1
)
SELECT
  companies.id,
  greatest(
    companies._synced_at,
    (SELECT max(resolved_at) FROM main.company_inputs WHERE company_id = companies.id),
    (SELECT max(checked_at) FROM sync.stream_state WHERE stream = 'companies' AND scope = companies.id),
    (
      SELECT max(state.walked_at)
      FROM sync.stream_state AS state
      WHERE state.stream = 'accounts'
        AND EXISTS (FROM main.accounts WHERE accounts.company_id = companies.id)
        -- Their list shows the profiles of companies, unless it refused to embed them or lacks them (src/sync/list/form.ts).
        AND NOT EXISTS (
          FROM sync.capabilities
          WHERE name = 'shape.accounts'
            AND (
              (value ->> '$.include') = 'false'
              OR json_contains(coalesce(value -> '$.without', '[]'), '"company"')
              OR json_contains(coalesce(value -> '$.lacks', '[]'), '"company"')
            )
        )
    )
  ) AS as_of
FROM best
JOIN main.companies ON companies.id = best.id;
