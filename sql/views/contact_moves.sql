-- Purpose: career changes of contacts: those that the service reports, and those visible only in the history.
-- Grain: one row per contact and move. reported: one per contact, kind and day of detection, as last received.
-- observed: title or employer differ from the previous version, and no reported change says so.
-- Readers: analysts, marts.champion_alerts.
CREATE OR REPLACE VIEW marts.contact_moves AS
WITH versions AS (
  SELECT
    id, first_name, last_name, account_id, type, contact_role, change_type, last_change_detected_on,
    in_current_role_since, current_title, current_company_name, previous_title, previous_company_name,
    valid_from, valid_to
  FROM history.contacts
  UNION ALL
  SELECT
    id, first_name, last_name, account_id, type, contact_role, change_type, last_change_detected_on,
    in_current_role_since, current_title, current_company_name, previous_title, previous_company_name,
    _synced_at AS valid_from, NULL AS valid_to
  FROM main.contacts
),
ordered AS (
  SELECT
    id, first_name, last_name, account_id, type, contact_role, change_type, last_change_detected_on,
    in_current_role_since, current_title, current_company_name, previous_title, previous_company_name, valid_from,
    row_number() OVER version_of_contact AS version,
    lag(current_title) OVER version_of_contact AS title_before,
    lag(current_company_name) OVER version_of_contact AS company_before,
    lag(change_type) OVER version_of_contact AS change_before,
    lag(last_change_detected_on) OVER version_of_contact AS detected_before,
    row_number() OVER (
      PARTITION BY id, change_type, last_change_detected_on ORDER BY valid_from DESC, valid_to DESC NULLS FIRST
    ) AS newest_of_change
  FROM versions
  WINDOW version_of_contact AS (PARTITION BY id ORDER BY valid_from, valid_to NULLS LAST)
),
moves AS (
  SELECT
    id, first_name, last_name, account_id, type, contact_role, change_type, 'reported' AS evidence,
    previous_company_name AS from_company,
    previous_title AS from_title,
    current_company_name AS to_company,
    current_title AS to_title,
    coalesce(last_change_detected_on, valid_from) AS moved_on,
    in_current_role_since
  FROM ordered
  WHERE newest_of_change = 1 AND (change_type IS NOT NULL OR last_change_detected_on IS NOT NULL)
  UNION ALL
  SELECT
    id, first_name, last_name, account_id, type, contact_role, NULL, 'observed',
    company_before, title_before, current_company_name, current_title, valid_from, in_current_role_since
  FROM ordered
  WHERE version > 1
    AND (current_title IS DISTINCT FROM title_before OR current_company_name IS DISTINCT FROM company_before)
    AND change_type IS NOT DISTINCT FROM change_before
    AND last_change_detected_on IS NOT DISTINCT FROM detected_before
)
SELECT
  moves.id AS contact_id,
  nullif(concat_ws(' ', moves.first_name, moves.last_name), '') AS contact_name,
  moves.type AS contact_type,
  moves.contact_role,
  moves.account_id,
  accounts.name AS account_name,
  moves.evidence,
  moves.change_type,
  moves.from_company,
  moves.from_title,
  moves.to_company,
  moves.to_title,
  coalesce(
    lower(trim(moves.from_company)) <> lower(trim(moves.to_company)),
    moves.change_type IN ('departure', 'newJoiner'),
    false
  ) AS changed_company,
  moves.moved_on,
  CAST(moves.in_current_role_since AT TIME ZONE 'UTC' AS DATE) AS in_current_role_since,
  contacts.id IS NOT NULL AS still_listed
FROM moves
LEFT JOIN main.accounts AS accounts ON accounts.id = moves.account_id
LEFT JOIN main.contacts AS contacts ON contacts.id = moves.id;

COMMENT ON VIEW marts.contact_moves IS 'Who went where, as reported by the service and as seen in the history. One row per contact and move.';
COMMENT ON COLUMN marts.contact_moves.contact_id IS 'Contact: contacts.id.';
COMMENT ON COLUMN marts.contact_moves.contact_name IS 'First and last name.';
COMMENT ON COLUMN marts.contact_moves.contact_type IS 'Role of the contact for the seller: prospect, champion, contact.';
COMMENT ON COLUMN marts.contact_moves.contact_role IS 'Role in the buying process.';
COMMENT ON COLUMN marts.contact_moves.account_id IS 'Account the contact belongs to: accounts.id.';
COMMENT ON COLUMN marts.contact_moves.account_name IS 'Name of that account.';
COMMENT ON COLUMN marts.contact_moves.evidence IS 'reported: the service says so. observed: two versions in the history differ.';
COMMENT ON COLUMN marts.contact_moves.change_type IS 'Kind of change; NULL for an observed move.';
COMMENT ON COLUMN marts.contact_moves.from_company IS 'Employer before; NULL when not known.';
COMMENT ON COLUMN marts.contact_moves.from_title IS 'Job title before; NULL when not known.';
COMMENT ON COLUMN marts.contact_moves.to_company IS 'Employer after; NULL when not known.';
COMMENT ON COLUMN marts.contact_moves.to_title IS 'Job title after; NULL when not known.';
COMMENT ON COLUMN marts.contact_moves.changed_company IS 'Whether the employer changed: the names differ, or one is missing and the change is a departure or newJoiner.';
COMMENT ON COLUMN marts.contact_moves.moved_on IS 'When the service detected the change; for an observed move, when the mirror did.';
COMMENT ON COLUMN marts.contact_moves.in_current_role_since IS 'First day of the role after the move.';
COMMENT ON COLUMN marts.contact_moves.still_listed IS 'Whether the service still lists the contact.';
