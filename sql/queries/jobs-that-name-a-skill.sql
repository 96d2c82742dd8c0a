-- Question: which open jobs speak of data or engineering? Change the pattern to what you sell to.
-- Answer: one row per open job whose title, function or description matches.
-- Readers: business development.
SELECT companies.name AS company_name, openings.title, openings.job_function, openings.location, openings.posted_on, openings.url
FROM main.job_openings AS openings
LEFT JOIN main.companies AS companies ON companies.id = openings.company_id
WHERE lower(coalesce(openings.status, 'open')) = 'open'
  AND regexp_matches(concat_ws(' ', openings.title, openings.job_function, openings.job_description), '\b(data|engineer\w*)\b', 'i')
ORDER BY openings.posted_on DESC, openings.id
LIMIT 50;
