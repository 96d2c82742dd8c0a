-- Purpose: what a person wants to know of an account before a meeting. Grain: one row per section and record, in order.
-- Parameters: $1 account id as text. Readers: src/mcp/read-tools.ts.
WITH subject AS (SELECT id, company_id FROM main.accounts WHERE CAST(id AS VARCHAR) = $1),
sections AS (
  SELECT 'account' AS section, 0 AS position, CAST(to_json(account) AS VARCHAR) AS record
  FROM marts.account_360 AS account SEMI JOIN subject ON subject.id = account.account_id
  UNION ALL
  SELECT 'contacts', row_number() OVER (ORDER BY main_score DESC NULLS LAST, id), CAST(json_object(
    'id', id, 'name', concat_ws(' ', first_name, last_name), 'title', current_title, 'company', current_company_name,
    'role', contact_role, 'type', type, 'change', change_type, 'changed_on', CAST(last_change_detected_on AS VARCHAR),
    'talking_points', talking_points
  ) AS VARCHAR)
  FROM main.contacts SEMI JOIN subject ON subject.id = contacts.account_id
  QUALIFY row_number() OVER (ORDER BY main_score DESC NULLS LAST, id) <= 10
  UNION ALL
  SELECT 'signals', row_number() OVER (ORDER BY date DESC, id DESC), CAST(json_object(
    'id', id, 'date', CAST(date AS VARCHAR), 'type', type, 'headline', headline, 'description', left(description, 500), 'sources', sources
  ) AS VARCHAR)
  FROM main.signals SEMI JOIN subject ON subject.id = signals.account_id
  QUALIFY row_number() OVER (ORDER BY date DESC, id DESC) <= 15
  UNION ALL
  SELECT 'job_openings', row_number() OVER (ORDER BY posted_on DESC, id), CAST(json_object(
    'title', title, 'function', job_function, 'location', location, 'posted_on', CAST(posted_on AS VARCHAR), 'url', url
  ) AS VARCHAR)
  FROM main.job_openings SEMI JOIN subject ON subject.company_id = job_openings.company_id
  QUALIFY row_number() OVER (ORDER BY posted_on DESC, id) <= 10
  UNION ALL
  SELECT 'earnings_calls', row_number() OVER (ORDER BY happened_at DESC NULLS LAST, id), CAST(json_object(
    'year', year, 'quarter', quarter, 'happened_at', CAST(happened_at AS VARCHAR), 'report', report_url
  ) AS VARCHAR)
  FROM main.earnings_calls SEMI JOIN subject ON subject.company_id = earnings_calls.company_id
  QUALIFY row_number() OVER (ORDER BY happened_at DESC NULLS LAST, id) <= 2
  UNION ALL
  SELECT 'filings', row_number() OVER (ORDER BY filing_date DESC NULLS LAST, id), CAST(json_object(
    'type', type, 'filed_on', CAST(filing_date AS VARCHAR), 'url', url
  ) AS VARCHAR)
  FROM main.filings SEMI JOIN subject ON subject.company_id = filings.company_id
  QUALIFY row_number() OVER (ORDER BY filing_date DESC NULLS LAST, id) <= 3
  UNION ALL
  SELECT 'insights', row_number() OVER (ORDER BY items.section, items.field, items.position), CAST(json_object(
    'field', items.field, 'text', items.text
  ) AS VARCHAR)
  FROM marts.insight_items AS items SEMI JOIN subject ON subject.id = items.account_id
  WHERE items.section = 'summary'
  QUALIFY row_number() OVER (ORDER BY items.section, items.field, items.position) <= 30
  UNION ALL
  SELECT 'changes', row_number() OVER (ORDER BY changed_at DESC, n DESC, field), CAST(json_object(
    'at', CAST(changed_at AS VARCHAR), 'table', table_name, 'sentence', sentence
  ) AS VARCHAR)
  FROM marts.recent_changes AS changes SEMI JOIN subject ON subject.id = changes.account_id
  QUALIFY row_number() OVER (ORDER BY changed_at DESC, n DESC, field) <= 20
)
SELECT section, record FROM sections ORDER BY section, position;
