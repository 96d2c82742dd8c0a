-- One row per change of the mirror. A run adds the changes since its last one: numbers grow in commit order, so none is missed.
-- If the feed starts anew (docs/CHANGES.md, CHANGES_GONE), run it with --full-refresh.
{{ config(materialized='incremental', unique_key='n') }}
select
  changes.n, batches.table_name, batches.change, batches."at" as changed_at, batches.run_id,
  changes.key_1, changes.key_2, changes.key_3
from {{ source('sync', 'changes') }} as changes
inner join {{ source('sync', 'change_batches') }} as batches
  on changes.n between batches.first_n and batches.last_n
{% if is_incremental() %}
where changes.n > (select coalesce(max(n), 0) from {{ this }})
{% endif %}
