-- Purpose: what is known of the change with a number, whatever happened to its row since. Grain: at most one row; none: the
-- change is not kept. Parameters: $1 number. Readers: src/deliver/position-mark.ts, src/alerts/events/change-events.ts.
SELECT concat_ws('|', table_name, change, run_id, epoch_us("at")) AS change
FROM sync.change_batches
WHERE $1 BETWEEN first_n AND last_n;
