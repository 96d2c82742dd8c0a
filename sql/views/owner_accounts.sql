-- Purpose: the users who own accounts as a dimension, with the size and state of what they own.
-- Grain: one row per owner of a tracked account.
-- Readers: analysts, BI tools.
CREATE OR REPLACE VIEW marts.owner_accounts AS
SELECT
  owner_id,
  any_value(owner) AS owner,
  count(*) AS accounts,
  count(*) FILTER (type = 'customer') AS customers,
  count(*) FILTER (type IN ('prospect', 'open-opportunity')) AS prospects,
  round(avg(main_score), 2) AS average_score,
  count(*) FILTER (main_score IS NULL) AS accounts_without_score,
  CAST(sum(signals_30_days) AS BIGINT) AS signals_30_days,
  max(last_signal_at) AS last_signal_at
FROM marts.account_360
WHERE owner_id IS NOT NULL
GROUP BY owner_id;

COMMENT ON VIEW marts.owner_accounts IS 'Who owns which share of the accounts. One row per owner of a tracked account.';
COMMENT ON COLUMN marts.owner_accounts.owner_id IS 'User: owners.id.';
COMMENT ON COLUMN marts.owner_accounts.owner IS 'What the service says of the user (owners.data), as JSON; its members are not documented.';
COMMENT ON COLUMN marts.owner_accounts.accounts IS 'Accounts of the owner.';
COMMENT ON COLUMN marts.owner_accounts.customers IS 'Of them, customers.';
COMMENT ON COLUMN marts.owner_accounts.prospects IS 'Of them, prospects and open opportunities.';
COMMENT ON COLUMN marts.owner_accounts.average_score IS 'Average score of the accounts that have one, 0 to 100; NULL when none has.';
COMMENT ON COLUMN marts.owner_accounts.accounts_without_score IS 'Accounts that have no score.';
COMMENT ON COLUMN marts.owner_accounts.signals_30_days IS 'Signals of these accounts in the last 30 days, at the moment of the query.';
COMMENT ON COLUMN marts.owner_accounts.last_signal_at IS 'When the last of their signals happened.';
