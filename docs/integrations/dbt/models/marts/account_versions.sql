-- One row per version of an account (SCD2): valid from `valid_from` until before `valid_to`; `valid_to` NULL: the present one.
select
  id as account_id, name as account_name, type as account_type, priority, owner_id, main_score,
  valid_from, valid_to, false as is_current, change = 'delete' as ended_by_delete
from {{ source('history', 'accounts') }}
union all
select id, name, type, priority, owner_id, main_score, _synced_at, null, true, false
from {{ source('main', 'accounts') }}
