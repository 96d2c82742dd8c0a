-- What a request was made for: look, walk, content, record, reading or verify. Budgets count by it.
-- NULL: made before this column existed, or not known after a crash.
ALTER TABLE sync.requests ADD COLUMN work VARCHAR;
