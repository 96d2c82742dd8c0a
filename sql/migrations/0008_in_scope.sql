-- Whether the setting `scope` asks for the row. A new version of a row was returned by its list, so it is inside.
ALTER TABLE main.accounts ADD COLUMN _in_scope BOOLEAN DEFAULT true;
ALTER TABLE main.contacts ADD COLUMN _in_scope BOOLEAN DEFAULT true;
ALTER TABLE main.signals ADD COLUMN _in_scope BOOLEAN DEFAULT true;
