-- Who changed jobs where we sell
-- Purpose: the latest career changes among contacts of customers and open opportunities. Grain: one row per contact.
-- Readers: duckmirror demo.
SELECT
  contacts.first_name || ' ' || contacts.last_name AS contact,
  contacts.change_type AS change,
  coalesce(contacts.previous_title || ', ', '') || coalesce(contacts.previous_company_name, '') AS from_role,
  contacts.current_title AS to_role,
  accounts.name AS account,
  CAST(contacts.last_change_detected_on AS DATE) AS detected
FROM contacts
INNER JOIN accounts ON contacts.account_id = accounts.id
WHERE
  accounts.type IN ('customer', 'open-opportunity')
  AND contacts.last_change_detected_on IS NOT NULL
ORDER BY contacts.last_change_detected_on DESC, contacts.id
LIMIT 5
