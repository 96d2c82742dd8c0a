-- One row per business event.
select id as signal_id, account_id, type as signal_type, headline, date as happened_at, _synced_at as synced_at
from {{ source('main', 'signals') }}
