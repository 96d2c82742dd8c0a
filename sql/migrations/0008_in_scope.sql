-- Whether the setting `scope` asks for the row. A new version of a row was returned by its list, so it is inside.
-- The default is set apart: in a transaction, ADD COLUMN with a default fails where the configuration is locked (DuckDB 1.5.5).
ALTER TABLE main.accounts ADD COLUMN _in_scope BOOLEAN;
ALTER TABLE main.accounts ALTER COLUMN _in_scope SET DEFAULT true;
UPDATE main.accounts SET _in_scope = true;
ALTER TABLE main.contacts ADD COLUMN _in_scope BOOLEAN;
ALTER TABLE main.contacts ALTER COLUMN _in_scope SET DEFAULT true;
UPDATE main.contacts SET _in_scope = true;
ALTER TABLE main.signals ADD COLUMN _in_scope BOOLEAN;
ALTER TABLE main.signals ALTER COLUMN _in_scope SET DEFAULT true;
UPDATE main.signals SET _in_scope = true;
