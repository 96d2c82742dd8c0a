-- Purpose: a summary of an account for a call, in one row.
-- Grain: one row per tracked account.
-- Readers: analysts, dashboards, CRM exports.
CREATE OR REPLACE VIEW marts.account_360 AS
WITH scores AS (
  SELECT account_id, previous_score, score_change, valid_from FROM marts.score_history WHERE is_current
),
-- Score 30 days ago: the interval that contains that time.
earlier_scores AS (
  SELECT account_id, any_value(main_score) AS main_score
  FROM marts.score_history
  WHERE valid_from <= now() - INTERVAL 720 HOUR AND (valid_to IS NULL OR valid_to > now() - INTERVAL 720 HOUR)
  GROUP BY account_id
),
openings AS (
  SELECT company_id, sum(open_now) AS open_jobs FROM marts.hiring_trend GROUP BY company_id
),
latest_by_type AS (
  SELECT
    account_id,
    coalesce(type, 'unknown') AS type,
    count(*) AS signals,
    max(date) AS date,
    arg_max(headline, date) AS headline
  FROM main.signals
  GROUP BY 1, 2
),
signals AS (
  SELECT
    account_id,
    sum(signals) AS signals,
    max(date) AS last_signal_at,
    arg_max(type, date) AS last_signal_type,
    arg_max(headline, date) AS last_signal_headline,
    to_json(map(
      list(type ORDER BY type),
      list({
        'date': strftime(date AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ'),
        'headline': headline,
        'signals': signals
      } ORDER BY type)
    )) AS last_signals_by_type
  FROM latest_by_type
  GROUP BY account_id
),
recent_signals AS (
  SELECT account_id, count(*) AS signals FROM main.signals WHERE date > now() - INTERVAL 720 HOUR GROUP BY account_id
),
role_counts AS (
  SELECT
    account_id,
    coalesce(contact_role, 'unknown') AS contact_role,
    count(*) AS contacts,
    count(*) FILTER (type = 'champion') AS champions
  FROM main.contacts
  WHERE account_id IS NOT NULL
  GROUP BY 1, 2
),
contacts AS (
  SELECT
    account_id,
    sum(contacts) AS contacts,
    sum(champions) AS champions,
    to_json(map(list(contact_role ORDER BY contact_role), list(contacts ORDER BY contact_role))) AS contacts_by_role
  FROM role_counts
  GROUP BY account_id
),
calls AS (
  SELECT
    company_id,
    max(happened_at) AS last_call_at,
    arg_max(year, happened_at) AS year,
    arg_max(quarter, happened_at) AS quarter
  FROM main.earnings_calls
  WHERE happened_at <= now()
  GROUP BY company_id
)
SELECT
  accounts.id AS account_id,
  accounts.name AS account_name,
  accounts.domain,
  accounts.type,
  accounts.priority,
  coalesce(accounts.industry, companies.industry) AS industry,
  accounts.country_code,
  coalesce(accounts.number_of_employees, companies.number_of_employees) AS number_of_employees,
  accounts.company_id,
  companies.name AS company_name,
  companies.main_stock_symbol AS stock_symbol,
  accounts.owner_id,
  owners.data AS owner,
  accounts.main_score,
  scores.previous_score,
  scores.score_change,
  CASE WHEN scores.previous_score IS NOT NULL THEN scores.valid_from END AS score_changed_at,
  earlier_scores.main_score AS score_30_days_ago,
  round(accounts.main_score - earlier_scores.main_score, 6) AS score_change_30_days,
  CASE WHEN accounts.company_id IS NOT NULL THEN CAST(coalesce(openings.open_jobs, 0) AS BIGINT) END AS open_jobs,
  CAST(coalesce(signals.signals, 0) AS BIGINT) AS signals,
  coalesce(recent_signals.signals, 0) AS signals_30_days,
  signals.last_signal_at,
  signals.last_signal_type,
  signals.last_signal_headline,
  signals.last_signals_by_type,
  CAST(coalesce(contacts.contacts, 0) AS BIGINT) AS contacts,
  CAST(coalesce(contacts.champions, 0) AS BIGINT) AS champions,
  contacts.contacts_by_role,
  calls.last_call_at AS last_earnings_call_at,
  calls.year AS last_earnings_call_year,
  calls.quarter AS last_earnings_call_quarter,
  accounts.crm_url,
  accounts.added_on,
  accounts.last_refresh_at,
  accounts.updated_at
FROM main.accounts AS accounts
LEFT JOIN main.companies AS companies ON companies.id = accounts.company_id
LEFT JOIN main.owners AS owners ON owners.id = accounts.owner_id
LEFT JOIN scores ON scores.account_id = accounts.id
LEFT JOIN earlier_scores ON earlier_scores.account_id = accounts.id
LEFT JOIN openings ON openings.company_id = accounts.company_id
LEFT JOIN signals ON signals.account_id = accounts.id
LEFT JOIN recent_signals ON recent_signals.account_id = accounts.id
LEFT JOIN contacts ON contacts.account_id = accounts.id
LEFT JOIN calls ON calls.company_id = accounts.company_id;

COMMENT ON VIEW marts.account_360 IS 'All about an account in one row. One row per tracked account.';
COMMENT ON COLUMN marts.account_360.account_id IS 'Account: accounts.id.';
COMMENT ON COLUMN marts.account_360.account_name IS 'Name of the account.';
COMMENT ON COLUMN marts.account_360.domain IS 'Domain of the account.';
COMMENT ON COLUMN marts.account_360.type IS 'Relationship with the account, e.g. customer.';
COMMENT ON COLUMN marts.account_360.priority IS '1 high, 2 medium, 3 low.';
COMMENT ON COLUMN marts.account_360.industry IS 'Industry of the account, else of its company.';
COMMENT ON COLUMN marts.account_360.country_code IS 'Country of the headquarters.';
COMMENT ON COLUMN marts.account_360.number_of_employees IS 'Employees of the account, else of its company.';
COMMENT ON COLUMN marts.account_360.company_id IS 'Company: companies.id; NULL when the account is linked to none.';
COMMENT ON COLUMN marts.account_360.company_name IS 'Name of the company.';
COMMENT ON COLUMN marts.account_360.stock_symbol IS 'Main stock symbol of the company.';
COMMENT ON COLUMN marts.account_360.owner_id IS 'User who owns the account: owners.id.';
COMMENT ON COLUMN marts.account_360.owner IS 'That user as the service describes it; shape not documented.';
COMMENT ON COLUMN marts.account_360.main_score IS 'Score now, 0 to 100.';
COMMENT ON COLUMN marts.account_360.previous_score IS 'Score before its last change; NULL when the mirror saw no other.';
COMMENT ON COLUMN marts.account_360.score_change IS 'main_score minus previous_score.';
COMMENT ON COLUMN marts.account_360.score_changed_at IS 'When the mirror saw the last change of the score.';
COMMENT ON COLUMN marts.account_360.score_30_days_ago IS 'Score 30 days before the query; NULL when the mirror did not know the account then.';
COMMENT ON COLUMN marts.account_360.score_change_30_days IS 'main_score minus score_30_days_ago, rounded to six decimals.';
COMMENT ON COLUMN marts.account_360.open_jobs IS 'Openings of the company that are open now; NULL without a company.';
COMMENT ON COLUMN marts.account_360.signals IS 'Signals of the account.';
COMMENT ON COLUMN marts.account_360.signals_30_days IS 'Signals whose event lies in the 30 days before the query.';
COMMENT ON COLUMN marts.account_360.last_signal_at IS 'When the last event happened.';
COMMENT ON COLUMN marts.account_360.last_signal_type IS 'Kind of the last event.';
COMMENT ON COLUMN marts.account_360.last_signal_headline IS 'Headline of the last event.';
COMMENT ON COLUMN marts.account_360.last_signals_by_type IS 'JSON object: type to date (UTC) and headline of its last event and the number of its signals.';
COMMENT ON COLUMN marts.account_360.contacts IS 'Contacts of the account.';
COMMENT ON COLUMN marts.account_360.champions IS 'Contacts of type champion.';
COMMENT ON COLUMN marts.account_360.contacts_by_role IS 'JSON object: contact_role (unknown when the service sent none) to number of contacts.';
COMMENT ON COLUMN marts.account_360.last_earnings_call_at IS 'When the last earnings call was held.';
COMMENT ON COLUMN marts.account_360.last_earnings_call_year IS 'Fiscal year of that call.';
COMMENT ON COLUMN marts.account_360.last_earnings_call_quarter IS 'Fiscal quarter of that call.';
COMMENT ON COLUMN marts.account_360.crm_url IS 'Record in the CRM.';
COMMENT ON COLUMN marts.account_360.added_on IS 'When the account was added to the workspace.';
COMMENT ON COLUMN marts.account_360.last_refresh_at IS 'When the service last refreshed the account.';
COMMENT ON COLUMN marts.account_360.updated_at IS 'When the account last changed at the service.';
