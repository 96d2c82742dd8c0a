-- Question: about which customers have we heard nothing for the longest time?
-- Answer: one row per customer, the longest silence first.
-- Readers: customer success.
SELECT
  account_name,
  owner_id,
  last_signal_at,
  date_diff('day', last_signal_at AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC') AS days_silent,
  contacts,
  champions
FROM marts.account_360
WHERE type = 'customer'
ORDER BY last_signal_at NULLS FIRST, account_name;
