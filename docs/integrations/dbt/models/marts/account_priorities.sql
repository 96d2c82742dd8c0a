-- One row per account: where to spend time this week. Score, fresh signals and champions, in one figure.
with fresh as (
  select account_id, count(distinct signal_type) as kinds_of_signals, max(happened_at) as last_signal_at
  from {{ ref('stg_signals') }}
  where happened_at > now() - interval 90 day
  group by account_id
)

select
  accounts.account_id,
  accounts.account_name,
  accounts.account_type,
  accounts.owner_id,
  accounts.main_score,
  accounts.champions,
  coalesce(fresh.kinds_of_signals, 0) as kinds_of_signals,
  fresh.last_signal_at,
  round(coalesce(accounts.main_score, 0) + 5 * coalesce(fresh.kinds_of_signals, 0) + 3 * accounts.champions, 1)
    as attention
from {{ ref('stg_accounts') }} as accounts
left join fresh using (account_id)
