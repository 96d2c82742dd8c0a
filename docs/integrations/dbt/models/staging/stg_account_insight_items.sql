-- One row per item of an account's insight.
select account_id, section, field, position, text
from {{ source('marts', 'insight_items') }}
