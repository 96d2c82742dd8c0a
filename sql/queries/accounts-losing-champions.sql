-- Question: at which customers and open opportunities did we lose our champion, and is another one left?
-- Answer: one row per account, those without any champion left first.
-- Readers: customer success.
SELECT
  accounts.account_name,
  accounts.type,
  count(*) AS champions_gone,
  accounts.champions AS champions_left,
  max(alerts.moved_on) AS last_gone_on,
  string_agg(alerts.contact_name, ', ' ORDER BY alerts.contact_name) AS who
FROM marts.champion_alerts AS alerts
JOIN marts.account_360 AS accounts ON accounts.account_id = alerts.account_id
WHERE accounts.type IN ('customer', 'open-opportunity') AND lower(alerts.from_company) = lower(accounts.account_name)
GROUP BY ALL
ORDER BY champions_left, champions_gone DESC, accounts.account_name;
