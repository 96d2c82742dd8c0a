-- Question: what should I know before the meeting? Put a part of your account's name between the two %.
-- Answer: one row per talking point, key insight, opportunity, challenge or SWOT item; without a name, of the account with the highest score.
-- Readers: account executives.
WITH subject AS (
  SELECT id FROM main.accounts WHERE name ILIKE '%%' ORDER BY main_score DESC NULLS LAST, id LIMIT 1
)
SELECT items.account_name, items.section, items.field, items.position, items.text, items.attribution
FROM marts.insight_items AS items
JOIN subject ON subject.id = items.account_id
WHERE items.section IN ('summary', 'swotAnalysis')
ORDER BY items.section, items.field, items.position;
