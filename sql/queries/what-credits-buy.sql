-- Question: what do we get for our credits, and do they last?
-- Answer: one row per day: credits spent here and by the whole organization, what is left, when it ends at this pace.
-- Readers: operations.
SELECT day, requests, spent_here, org_spent, remaining, resets_at, spent_per_day, forecast_remaining, forecast_empty_on
FROM marts.credit_burn
ORDER BY day DESC
LIMIT 60;
