-- Purpose: every business event with its account, ordered by date.
-- Grain: one row per signal.
-- Readers: analysts, dashboards, marts.funding_events.
CREATE OR REPLACE VIEW marts.signal_timeline AS
SELECT
  signals.id AS signal_id,
  signals.date,
  CAST(signals.date AT TIME ZONE 'UTC' AS DATE) AS day,
  signals.type,
  signals.subtype,
  signals.headline,
  signals.description,
  signals.account_id,
  accounts.name AS account_name,
  accounts.domain AS account_domain,
  accounts.type AS account_type,
  accounts.priority AS account_priority,
  accounts.main_score AS account_score,
  accounts.owner_id,
  accounts.company_id,
  signals.matching_keywords,
  signals.sources[1] AS source_url,
  signals.created_at AS detected_at,
  date_diff('hour', signals.date AT TIME ZONE 'UTC', signals.created_at AT TIME ZONE 'UTC') AS hours_to_detect,
  CAST(signals.clinical_trial_primary_completion_date AT TIME ZONE 'UTC' AS DATE) AS clinical_trial_primary_completion_date,
  CAST(signals.clinical_trial_study_completion_date AT TIME ZONE 'UTC' AS DATE) AS clinical_trial_study_completion_date,
  signals.updated_at,
  signals._first_synced_at AS first_synced_at
FROM main.signals AS signals
LEFT JOIN main.accounts AS accounts ON accounts.id = signals.account_id;

COMMENT ON VIEW marts.signal_timeline IS 'Every business event with the account it is about. One row per signal.';
COMMENT ON COLUMN marts.signal_timeline.signal_id IS 'Signal: signals.id.';
COMMENT ON COLUMN marts.signal_timeline.date IS 'When the event happened.';
COMMENT ON COLUMN marts.signal_timeline.day IS 'Day of the event, UTC.';
COMMENT ON COLUMN marts.signal_timeline.type IS 'Kind of event, e.g. funding-alert.';
COMMENT ON COLUMN marts.signal_timeline.subtype IS 'Finer kind.';
COMMENT ON COLUMN marts.signal_timeline.headline IS 'Headline.';
COMMENT ON COLUMN marts.signal_timeline.description IS 'Short description.';
COMMENT ON COLUMN marts.signal_timeline.account_id IS 'Account the event is about: accounts.id.';
COMMENT ON COLUMN marts.signal_timeline.account_name IS 'Name of the account; NULL when the account is not mirrored.';
COMMENT ON COLUMN marts.signal_timeline.account_domain IS 'Domain of the account.';
COMMENT ON COLUMN marts.signal_timeline.account_type IS 'Relationship with the account, e.g. customer.';
COMMENT ON COLUMN marts.signal_timeline.account_priority IS '1 high, 2 medium, 3 low.';
COMMENT ON COLUMN marts.signal_timeline.account_score IS 'Score of the account now, 0 to 100.';
COMMENT ON COLUMN marts.signal_timeline.owner_id IS 'User who owns the account: owners.id.';
COMMENT ON COLUMN marts.signal_timeline.company_id IS 'Company of the account: companies.id.';
COMMENT ON COLUMN marts.signal_timeline.matching_keywords IS 'Keywords of the organization that match.';
COMMENT ON COLUMN marts.signal_timeline.source_url IS 'First of the sources.';
COMMENT ON COLUMN marts.signal_timeline.detected_at IS 'When the service created the signal.';
COMMENT ON COLUMN marts.signal_timeline.hours_to_detect IS 'Hours from the event to its signal.';
COMMENT ON COLUMN marts.signal_timeline.clinical_trial_primary_completion_date IS 'Primary completion date of the clinical trial.';
COMMENT ON COLUMN marts.signal_timeline.clinical_trial_study_completion_date IS 'Completion date of the clinical trial.';
COMMENT ON COLUMN marts.signal_timeline.updated_at IS 'When the signal last changed.';
COMMENT ON COLUMN marts.signal_timeline.first_synced_at IS 'When the signal first reached this mirror: what is new since a given moment.';
