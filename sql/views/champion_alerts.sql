-- Purpose: champions and former users who changed company: a warm door at the new employer, a risk at the old one.
-- Grain: one row per contact and change of company.
-- Readers: analysts, alerts.
CREATE OR REPLACE VIEW marts.champion_alerts AS
WITH versions AS (
  SELECT id, type, position_when_former_user FROM main.contacts
  UNION ALL
  SELECT id, type, position_when_former_user FROM history.contacts
),
standing AS (
  SELECT
    id,
    coalesce(bool_or(type = 'champion'), false) AS was_champion,
    bool_or(position_when_former_user IS NOT NULL AND CAST(position_when_former_user AS VARCHAR) NOT IN ('null', '{}'))
      AS was_user
  FROM versions
  GROUP BY id
),
named_accounts AS (
  SELECT lower(trim(name)) AS company_name, min(id) AS account_id FROM main.accounts WHERE name IS NOT NULL GROUP BY 1
)
SELECT
  moves.contact_id,
  moves.contact_name,
  CASE
    WHEN standing.was_champion AND standing.was_user THEN 'champion and former user'
    WHEN standing.was_champion THEN 'champion'
    ELSE 'former user'
  END AS alert,
  moves.account_id,
  moves.account_name,
  moves.from_company,
  moves.from_title,
  moves.to_company,
  moves.to_title,
  destination.account_id AS to_account_id,
  moves.change_type,
  moves.evidence,
  moves.moved_on,
  contacts.email,
  contacts.professional_network_url,
  contacts.intro_paths
FROM marts.contact_moves AS moves
JOIN standing ON standing.id = moves.contact_id
LEFT JOIN main.contacts AS contacts ON contacts.id = moves.contact_id
LEFT JOIN named_accounts AS destination ON destination.company_name = lower(trim(moves.to_company))
WHERE moves.changed_company AND (standing.was_champion OR standing.was_user);

COMMENT ON VIEW marts.champion_alerts IS 'Champions and former users who changed company. One row per contact and change of company.';
COMMENT ON COLUMN marts.champion_alerts.contact_id IS 'Contact: contacts.id.';
COMMENT ON COLUMN marts.champion_alerts.contact_name IS 'First and last name.';
COMMENT ON COLUMN marts.champion_alerts.alert IS 'champion, former user, or champion and former user: what the contact is or was in any version.';
COMMENT ON COLUMN marts.champion_alerts.account_id IS 'Account the contact belongs to: accounts.id.';
COMMENT ON COLUMN marts.champion_alerts.account_name IS 'Name of that account.';
COMMENT ON COLUMN marts.champion_alerts.from_company IS 'Employer before.';
COMMENT ON COLUMN marts.champion_alerts.from_title IS 'Job title before.';
COMMENT ON COLUMN marts.champion_alerts.to_company IS 'Employer after.';
COMMENT ON COLUMN marts.champion_alerts.to_title IS 'Job title after.';
COMMENT ON COLUMN marts.champion_alerts.to_account_id IS 'Tracked account whose name is that of the new employer (the lowest id of several); NULL when none is.';
COMMENT ON COLUMN marts.champion_alerts.change_type IS 'Kind of change; NULL for an observed move.';
COMMENT ON COLUMN marts.champion_alerts.evidence IS 'reported: the service says so. observed: two versions in the history differ.';
COMMENT ON COLUMN marts.champion_alerts.moved_on IS 'When the change was detected.';
COMMENT ON COLUMN marts.champion_alerts.email IS 'E-mail address; NULL once the contact is no longer listed.';
COMMENT ON COLUMN marts.champion_alerts.professional_network_url IS 'Profile on the professional network.';
COMMENT ON COLUMN marts.champion_alerts.intro_paths IS 'Ways to be introduced.';
