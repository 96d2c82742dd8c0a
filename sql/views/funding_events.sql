-- Purpose: who raised money, with round and amount where the text names them.
-- Grain: one row per signal of type funding-alert.
-- Readers: analysts, alerts.
CREATE OR REPLACE VIEW marts.funding_events AS
WITH named AS (
  SELECT
    signal_id,
    date,
    day,
    account_id,
    account_name,
    account_domain,
    account_type,
    account_score,
    owner_id,
    company_id,
    subtype,
    headline,
    description,
    nullif(regexp_extract(
      concat_ws(' ', headline, description), '((?:pre-)?seed|series [a-h]\d?|bridge|growth|venture|debt|convertible|angel)\b', 1, 'i'), '') AS round_text,
    nullif(regexp_extract(
      concat_ws(' ', headline, description), '((?:US)?[$€£¥]\s?\d[\d.,]*\d?\s?(?:thousand|million|billion|bn|mn|[kmb])?)\b', 1, 'i'), '') AS amount_text,
    source_url,
    detected_at
  FROM marts.signal_timeline
  WHERE type = 'funding-alert'
)
SELECT
  signal_id,
  date,
  day,
  account_id,
  account_name,
  account_domain,
  account_type,
  account_score,
  owner_id,
  company_id,
  subtype,
  headline,
  description,
  round_text,
  amount_text,
  -- Points or commas in other places than English puts them are no number here.
  try_cast(round(
    try_cast(replace(regexp_extract(amount_text, '^\D*((?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d{1,2})?)(?:[^\d.,]|$)', 1), ',', '') AS DOUBLE)
    * CASE lower(regexp_extract(amount_text, '(thousand|million|billion|bn|mn|[kmb])$', 1, 'i'))
      WHEN 'thousand' THEN 1e3
      WHEN 'k' THEN 1e3
      WHEN 'million' THEN 1e6
      WHEN 'mn' THEN 1e6
      WHEN 'm' THEN 1e6
      WHEN 'billion' THEN 1e9
      WHEN 'bn' THEN 1e9
      WHEN 'b' THEN 1e9
      ELSE 1
    END
  ) AS BIGINT) AS amount,
  CASE regexp_extract(amount_text, '[$€£¥]')
    WHEN '$' THEN 'USD'
    WHEN '€' THEN 'EUR'
    WHEN '£' THEN 'GBP'
    WHEN '¥' THEN 'JPY'
  END AS currency,
  source_url,
  detected_at
FROM named;

COMMENT ON VIEW marts.funding_events IS 'Who raised money. One row per funding-alert.';
COMMENT ON COLUMN marts.funding_events.signal_id IS 'Signal: signals.id.';
COMMENT ON COLUMN marts.funding_events.date IS 'When it happened.';
COMMENT ON COLUMN marts.funding_events.day IS 'Day it happened, UTC.';
COMMENT ON COLUMN marts.funding_events.account_id IS 'Account: accounts.id.';
COMMENT ON COLUMN marts.funding_events.account_name IS 'Name of the account.';
COMMENT ON COLUMN marts.funding_events.account_domain IS 'Domain of the account.';
COMMENT ON COLUMN marts.funding_events.account_type IS 'Relationship with the account.';
COMMENT ON COLUMN marts.funding_events.account_score IS 'Score of the account now, 0 to 100.';
COMMENT ON COLUMN marts.funding_events.owner_id IS 'User who owns the account: owners.id.';
COMMENT ON COLUMN marts.funding_events.company_id IS 'Company of the account: companies.id.';
COMMENT ON COLUMN marts.funding_events.subtype IS 'Finer kind.';
COMMENT ON COLUMN marts.funding_events.headline IS 'Headline.';
COMMENT ON COLUMN marts.funding_events.description IS 'Short description.';
COMMENT ON COLUMN marts.funding_events.round_text IS 'Round as headline or description name it, e.g. Series B; NULL when neither does. Read from text, not sent by the service.';
COMMENT ON COLUMN marts.funding_events.amount_text IS 'First amount of money in headline or description, as written; NULL when there is none. Read from text, not sent by the service.';
COMMENT ON COLUMN marts.funding_events.amount IS 'The amount as a number, in whole units of the currency; NULL without one.';
COMMENT ON COLUMN marts.funding_events.currency IS 'Currency by the sign of the amount: USD, EUR, GBP or JPY. A $ or ¥ counts as USD or JPY.';
COMMENT ON COLUMN marts.funding_events.source_url IS 'First of the sources.';
COMMENT ON COLUMN marts.funding_events.detected_at IS 'When the service created the signal.';
