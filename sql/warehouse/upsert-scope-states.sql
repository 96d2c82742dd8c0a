-- Purpose: stores the scope states of a commit.
-- Parameters: none; reads the temporary table `incoming`. Readers: src/warehouse/load/commit.ts.
INSERT OR REPLACE INTO sync.stream_state SELECT * FROM incoming;
