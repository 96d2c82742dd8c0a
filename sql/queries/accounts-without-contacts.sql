-- Question: which good accounts have no contact with a verified e-mail address?
-- Answer: one row per such account, the highest score first.
-- Readers: sales operations.
SELECT accounts.account_name, accounts.type, accounts.main_score, accounts.contacts
FROM marts.account_360 AS accounts
ANTI JOIN (SELECT account_id FROM main.contacts WHERE email IS NOT NULL AND email_status = 'verified') AS reachable
  ON reachable.account_id = accounts.account_id
ORDER BY accounts.main_score DESC NULLS LAST, accounts.account_name;
