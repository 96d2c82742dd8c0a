-- Purpose: stores the state of a new scope.
-- Parameters: the columns in their order. Readers: src/warehouse/load/commit.ts.
INSERT INTO sync.stream_state VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);
