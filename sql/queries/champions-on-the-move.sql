-- Question: which champions and former users changed company, and do we track where they went?
-- Answer: one row per change of company, the latest first; to_account_id is set where the door is already open.
-- Readers: account executives.
SELECT contact_name, alert, from_company, to_company, to_title, to_account_id, moved_on, email, intro_paths
FROM marts.champion_alerts
ORDER BY moved_on DESC, contact_id
LIMIT 50;
