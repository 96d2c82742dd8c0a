-- Question: which accounts buy, or are bought?
-- Answer: one row per takeover signal, the latest first.
-- Readers: sales managers.
SELECT account_name, account_type, headline, description, date, source_url
FROM marts.signal_timeline
WHERE type = 'm-and-a-alert'
ORDER BY date DESC, signal_id
LIMIT 50;
