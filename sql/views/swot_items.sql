-- Purpose: strengths, weaknesses, opportunities and threats of each account as rows.
-- Grain: one row per account, kind and position. Taken from the account insight; without one, from the account's
-- swotAnalysis if it has the same shape (API.md does not show it).
-- Readers: analysts.
CREATE OR REPLACE VIEW marts.swot_items AS
WITH kinds AS (
  SELECT unnest(['strengths', 'weaknesses', 'opportunities', 'threats']) AS field,
    unnest(['strength', 'weakness', 'opportunity', 'threat']) AS kind
),
insight AS (
  SELECT account_id, field, position, text FROM marts.insight_items WHERE section = 'swotAnalysis'
),
own_lists AS (
  SELECT accounts.id AS account_id, kinds.field, json_extract(accounts.swot_analysis, '$.' || kinds.field) AS content
  FROM main.accounts AS accounts
  CROSS JOIN kinds
  ANTI JOIN insight ON insight.account_id = accounts.id
),
own AS (
  SELECT
    account_id,
    field,
    unnest(range(1, CAST(json_array_length(content) AS BIGINT) + 1)) AS position,
    unnest(TRY_CAST(content AS JSON[])) AS item
  FROM own_lists
  WHERE json_type(content) = 'ARRAY'
),
items AS (
  SELECT account_id, field, position, text, 'insight' AS source FROM insight
  UNION ALL
  SELECT
    account_id,
    field,
    CAST(position AS INTEGER),
    CASE WHEN json_type(item) = 'VARCHAR' THEN json_extract_string(item, '$') ELSE CAST(item AS VARCHAR) END,
    'account'
  FROM own
  WHERE json_type(item) <> 'NULL'
)
SELECT items.account_id, accounts.name AS account_name, kinds.kind, items.position, items.text, items.source
FROM items
JOIN kinds ON kinds.field = items.field
LEFT JOIN main.accounts AS accounts ON accounts.id = items.account_id;

COMMENT ON VIEW marts.swot_items IS 'Strengths, weaknesses, opportunities and threats as rows. One row per account, kind and position.';
COMMENT ON COLUMN marts.swot_items.account_id IS 'Account: accounts.id.';
COMMENT ON COLUMN marts.swot_items.account_name IS 'Name of the account.';
COMMENT ON COLUMN marts.swot_items.kind IS 'strength, weakness, opportunity or threat.';
COMMENT ON COLUMN marts.swot_items.position IS 'Place in the list, from 1.';
COMMENT ON COLUMN marts.swot_items.text IS 'The text.';
COMMENT ON COLUMN marts.swot_items.source IS 'insight: the account insight. account: the account itself, where the insight has none.';
