-- Question: what is new in the last seven days?
-- Answer: one row per signal that was detected and received in these days, the highest scored account first.
-- Readers: account executives, inside sales.
SELECT account_name, type, headline, date, first_synced_at, source_url
FROM marts.signal_timeline
WHERE first_synced_at > now() - INTERVAL 168 HOUR AND detected_at > now() - INTERVAL 168 HOUR
ORDER BY account_score DESC NULLS LAST, date DESC, signal_id
LIMIT 100;
