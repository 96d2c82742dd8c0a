-- Rows of this query are failures: signals whose account the mirror does not hold.
-- A warning: an account that was deleted a moment ago takes its signals along with the next complete walk.
{{ config(severity='warn') }}
select signals.signal_id
from {{ ref('stg_signals') }} as signals
left join {{ ref('stg_accounts') }} as accounts using (account_id)
where accounts.account_id is null
