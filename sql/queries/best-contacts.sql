-- Question: whom to call at each account?
-- Answer: up to three contacts per account: champions first, then the highest targeting score.
-- Readers: inside sales.
SELECT
  accounts.name AS account_name,
  concat_ws(' ', contacts.first_name, contacts.last_name) AS contact_name,
  contacts.current_title,
  contacts.type,
  contacts.main_score,
  contacts.email,
  contacts.phone
FROM main.contacts AS contacts
JOIN main.accounts AS accounts ON accounts.id = contacts.account_id
QUALIFY row_number() OVER (
  PARTITION BY accounts.id
  ORDER BY contacts.type = 'champion' DESC NULLS LAST, contacts.main_score DESC NULLS LAST, contacts.id
) <= 3
ORDER BY accounts.main_score DESC NULLS LAST, account_name, contacts.main_score DESC NULLS LAST, contacts.id;
