-- Question: who raised money in the last 180 days and is not a customer yet?
-- Answer: one row per funding event, the latest first.
-- Readers: business development.
SELECT account_name, account_type, round_text, amount_text, date, headline, source_url
FROM marts.funding_events
WHERE date > now() - INTERVAL 4320 HOUR AND account_type IS DISTINCT FROM 'customer'
ORDER BY date DESC, signal_id;
