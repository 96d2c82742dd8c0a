-- Whether syncs keep the row up to date: insights follow their accounts, company data the accounts inside the setting `scope` and
-- the followed inputs. The next sync sets what is outside. The default is set apart, as in 0008_in_scope.sql.
ALTER TABLE main.companies ADD COLUMN _in_scope BOOLEAN;
ALTER TABLE main.companies ALTER COLUMN _in_scope SET DEFAULT true;
UPDATE main.companies SET _in_scope = true;
ALTER TABLE main.news_articles ADD COLUMN _in_scope BOOLEAN;
ALTER TABLE main.news_articles ALTER COLUMN _in_scope SET DEFAULT true;
UPDATE main.news_articles SET _in_scope = true;
ALTER TABLE main.job_openings ADD COLUMN _in_scope BOOLEAN;
ALTER TABLE main.job_openings ALTER COLUMN _in_scope SET DEFAULT true;
UPDATE main.job_openings SET _in_scope = true;
ALTER TABLE main.earnings_calls ADD COLUMN _in_scope BOOLEAN;
ALTER TABLE main.earnings_calls ALTER COLUMN _in_scope SET DEFAULT true;
UPDATE main.earnings_calls SET _in_scope = true;
ALTER TABLE main.filings ADD COLUMN _in_scope BOOLEAN;
ALTER TABLE main.filings ALTER COLUMN _in_scope SET DEFAULT true;
UPDATE main.filings SET _in_scope = true;
ALTER TABLE main.account_insights ADD COLUMN _in_scope BOOLEAN;
ALTER TABLE main.account_insights ALTER COLUMN _in_scope SET DEFAULT true;
UPDATE main.account_insights SET _in_scope = true;
