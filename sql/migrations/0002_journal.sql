-- How far the archive's journal has been carried out: the number of the last change that is part of this file.
-- Set in the transaction of each change, so a crash between journal and file shows, and `replay` knows where it stands.
-- One row. A file that is older than the journal begins at 1: its archive can never be complete.
CREATE TABLE sync.journal (
  applied BIGINT NOT NULL
);
INSERT INTO sync.journal (applied)
SELECT CASE WHEN EXISTS (SELECT 1 FROM sync.runs) THEN 1 ELSE 0 END;
