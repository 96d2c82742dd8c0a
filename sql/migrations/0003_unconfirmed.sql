-- Whether a list is complete: NULL in unconfirmed_because means that the last complete walk added up and its deletes were
-- settled. Else unconfirmed counts the rows that walk could not confirm.
ALTER TABLE sync.stream_state ADD COLUMN unconfirmed BIGINT;
ALTER TABLE sync.stream_state ADD COLUMN unconfirmed_because VARCHAR;
-- Before this version a walk that did not add up left no count of the mirrored rows. A log never has one.
UPDATE sync.stream_state SET
  unconfirmed = abs(coalesce(total_count, 0) - coalesce(rows_at_walk, total_count, 0)),
  unconfirmed_because = CASE
    WHEN stream = 'usage' THEN NULL
    WHEN rows_at_walk IS NULL THEN 'the last complete walk did not add up'
    WHEN total_count <> rows_at_walk THEN 'the service counts other rows than it lists'
  END;
