-- Purpose: stores the request ledger of a commit. A request that exists already stays unchanged.
-- Parameters: none; reads the temporary table `incoming`. Readers: src/warehouse/load/commit.ts.
INSERT INTO sync.requests SELECT * FROM incoming ON CONFLICT DO NOTHING;
