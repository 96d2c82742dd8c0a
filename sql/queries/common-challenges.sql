-- Question: what do accounts of each kind struggle with, in their own insights?
-- Answer: one row per account type and challenge, the most widespread first.
-- Readers: marketing, enablement.
SELECT accounts.type AS account_type, items.text AS challenge, count(DISTINCT items.account_id) AS accounts
FROM marts.insight_items AS items
JOIN main.accounts AS accounts ON accounts.id = items.account_id
WHERE items.field IN ('challenges', 'weaknesses', 'threats')
GROUP BY ALL
ORDER BY accounts DESC, account_type, challenge
LIMIT 50;
