-- Purpose: the request ledger of a commit. A request that is already there stays as it is.
-- Parameters: none; reads the temporary table `incoming`. Readers: src/warehouse/load/commit.ts.
INSERT INTO sync.requests SELECT * FROM incoming ON CONFLICT DO NOTHING;
