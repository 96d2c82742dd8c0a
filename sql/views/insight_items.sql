-- Purpose: every list of the account insights as rows, for searching, counting and showing.
-- Grain: one row per account, section, field and position. A single text counts as a list of one; an object is opened
-- one level (threeWhys.whyNow); deeper values and values other than text are JSON in `text`.
-- Readers: analysts, marts.swot_items.
CREATE OR REPLACE VIEW marts.insight_items AS
WITH sections AS (
  SELECT account_id, 'summary' AS section, summary AS content FROM main.account_insights
  UNION ALL
  SELECT account_id, 'research', research FROM main.account_insights
  UNION ALL
  SELECT account_id, 'swotAnalysis', swot_analysis FROM main.account_insights
  UNION ALL
  SELECT account_id, 'value', value FROM main.account_insights
),
outer_fields AS (
  SELECT account_id, section, unnest(json_keys(content)) AS name, content
  FROM sections
  WHERE json_type(content) = 'OBJECT'
),
outer_values AS (
  SELECT
    account_id,
    section,
    name,
    -- A JSON pointer, because names may contain dots and quotes.
    json_extract(content, '/' || replace(replace(name, '~', '~0'), '/', '~1')) AS content
  FROM outer_fields
),
inner_fields AS (
  SELECT account_id, section, name, unnest(json_keys(content)) AS inner_name, content
  FROM outer_values
  WHERE json_type(content) = 'OBJECT'
),
fields AS (
  SELECT account_id, section, name AS field, content FROM outer_values WHERE json_type(content) <> 'OBJECT'
  UNION ALL
  SELECT
    account_id,
    section,
    name || '.' || inner_name,
    json_extract(content, '/' || replace(replace(inner_name, '~', '~0'), '/', '~1'))
  FROM inner_fields
),
items AS (
  SELECT account_id, section, field, unnest(TRY_CAST(content AS JSON[])) AS item, unnest(range(1, CAST(json_array_length(content) AS BIGINT) + 1)) AS position
  FROM fields
  WHERE json_type(content) = 'ARRAY'
  UNION ALL
  SELECT account_id, section, field, content, 1 FROM fields WHERE json_type(content) NOT IN ('ARRAY', 'NULL')
)
SELECT
  items.account_id,
  accounts.name AS account_name,
  items.section,
  items.field,
  CAST(items.position AS INTEGER) AS position,
  CASE
    WHEN json_type(items.item) = 'VARCHAR' THEN json_extract_string(items.item, '$')
    ELSE coalesce(json_extract_string(items.item, '$.quote'), CAST(items.item AS VARCHAR))
  END AS text,
  json_extract_string(items.item, '$.attribution') AS attribution
FROM items
LEFT JOIN main.accounts AS accounts ON accounts.id = items.account_id
WHERE json_type(items.item) <> 'NULL';

COMMENT ON VIEW marts.insight_items IS 'Every list of the account insights as rows. One row per account, section, field and position.';
COMMENT ON COLUMN marts.insight_items.account_id IS 'Account: accounts.id.';
COMMENT ON COLUMN marts.insight_items.account_name IS 'Name of the account.';
COMMENT ON COLUMN marts.insight_items.section IS 'Section as the service names it: summary, research, swotAnalysis, value.';
COMMENT ON COLUMN marts.insight_items.field IS 'Field of the section as the service names it, e.g. keyInsights; of an object, object.field.';
COMMENT ON COLUMN marts.insight_items.position IS 'Place in the list, from 1.';
COMMENT ON COLUMN marts.insight_items.text IS 'The text; of a quotation, the quote; of anything else, its JSON.';
COMMENT ON COLUMN marts.insight_items.attribution IS 'Who is quoted; NULL when the item is no quotation.';
