-- Purpose: one account as people think of it: its facts, the course of its score, what happened, what changed, its insights.
-- Grain: one row per section and record, in order; a record is JSON, its times are ms since the epoch.
-- Parameters: $1 account id as text. Readers: src/server/figures/accounts.ts.
WITH subject AS (SELECT id, company_id FROM main.accounts WHERE CAST(id AS VARCHAR) = $1),
events AS (
  SELECT 'signal' AS kind, date AS moment, headline AS title, concat_ws(': ', type, left(description, 400)) AS detail, sources[1] AS url
  FROM main.signals SEMI JOIN subject ON subject.id = signals.account_id
  UNION ALL
  SELECT
    'move', moved_on, concat_ws(' ', contact_name, concat('(', replace(change_type, '-', ' '), ')')),
    concat_ws(' → ', concat_ws(', ', from_title, from_company), concat_ws(', ', to_title, to_company)), NULL
  FROM marts.contact_moves SEMI JOIN subject ON subject.id = contact_moves.account_id
  UNION ALL
  SELECT 'opening', posted_on, title, concat_ws(', ', job_function, location), url
  FROM main.job_openings SEMI JOIN subject ON subject.company_id = job_openings.company_id
  UNION ALL
  SELECT 'call', happened_at, concat('Earnings call, quarter ', quarter, ' of ', year), stock_symbol, report_url
  FROM main.earnings_calls SEMI JOIN subject ON subject.company_id = earnings_calls.company_id
  UNION ALL
  SELECT 'filing', filing_date, concat('Filing ', type), concat('fiscal year ', fiscal_year), url
  FROM main.filings SEMI JOIN subject ON subject.company_id = filings.company_id
  UNION ALL
  SELECT 'news', date_published, headline, concat_ws(': ', publisher, left(description, 400)), url
  FROM main.news_articles SEMI JOIN subject ON subject.company_id = news_articles.company_id
),
sections AS (
  SELECT 'account' AS section, 0 AS position, json_object(
    'account_id', CAST(account_360.account_id AS VARCHAR), 'name', account_name, 'domain', account_360.domain, 'type', account_360.type,
    'priority', account_360.priority, 'industry', account_360.industry, 'country', account_360.country_code,
    'employees', account_360.number_of_employees, 'company_id', account_360.company_id, 'company', company_name, 'stock_symbol', stock_symbol,
    'score', account_360.main_score, 'score_before', previous_score, 'score_30_days_ago', score_30_days_ago, 'open_jobs', open_jobs,
    'signals', signals, 'signals_30_days', signals_30_days, 'contacts', contacts, 'champions', champions,
    'updated_at', epoch_ms(account_360.updated_at), 'description', accounts.description, 'crm_url', accounts.crm_url,
    'professional_network_url', accounts.professional_network_url, 'funding_data_url', accounts.funding_data_url,
    'sales_tool_url', accounts.sales_tool_url
  ) AS record
  FROM marts.account_360 SEMI JOIN subject ON subject.id = account_360.account_id
  JOIN main.accounts ON accounts.id = account_360.account_id
  UNION ALL
  SELECT 'score', row_number() OVER (ORDER BY valid_from), json_object('at', epoch_ms(valid_from), 'score', main_score)
  FROM marts.score_history SEMI JOIN subject ON subject.id = score_history.account_id
  UNION ALL
  SELECT 'count', row_number() OVER (ORDER BY kind), json_object('kind', kind, 'events', count(*)) FROM events GROUP BY kind
  UNION ALL
  SELECT 'event', row_number() OVER (ORDER BY moment DESC NULLS LAST, title), json_object(
    'kind', kind, 'at', epoch_ms(moment), 'title', title, 'detail', detail, 'url', url
  )
  FROM (FROM events QUALIFY row_number() OVER (PARTITION BY kind ORDER BY moment DESC NULLS LAST, title) <= 60)
  UNION ALL
  SELECT 'change', row_number() OVER (ORDER BY changed_at DESC, n DESC, field), json_object(
    'at', epoch_ms(changed_at), 'table', table_name, 'sentence', CASE WHEN length(sentence) > 160 THEN concat(left(sentence, 160), ' …') ELSE sentence END
  )
  FROM marts.recent_changes SEMI JOIN subject ON subject.id = recent_changes.account_id
  QUALIFY row_number() OVER (ORDER BY changed_at DESC, n DESC, field) <= 100
  UNION ALL
  SELECT 'insight', row_number() OVER (ORDER BY field, position), json_object('field', field, 'text', text)
  FROM marts.insight_items SEMI JOIN subject ON subject.id = insight_items.account_id
  WHERE section = 'summary'
  QUALIFY row_number() OVER (ORDER BY field, position) <= 40
)
SELECT section, CAST(record AS VARCHAR) AS record FROM sections ORDER BY section, position;
