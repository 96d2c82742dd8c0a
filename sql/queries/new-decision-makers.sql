-- Question: who came into a leading role lately and may want to change things?
-- Answer: one row per executive who is new in the role, the latest first.
-- Readers: account executives.
SELECT contact_name, to_title, account_name, change_type, from_company, in_current_role_since, moved_on
FROM marts.contact_moves
WHERE evidence = 'reported'
  AND change_type IN ('promotion', 'newJoiner', 'newInRole')
  AND regexp_matches(to_title, '\b(chief|c[a-z]o|president|vp|vice president|head|director)\b', 'i')
ORDER BY moved_on DESC, contact_id
LIMIT 50;
