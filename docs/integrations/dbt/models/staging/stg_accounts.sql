-- One row per tracked account, as the rest of the project reads it.
select
  account_id,
  account_name,
  type as account_type,
  priority,
  main_score,
  score_change_30_days,
  owner_id,
  signals_30_days,
  open_jobs,
  contacts,
  champions
from {{ source('marts', 'account_360') }}
