// Retention of the ledger: removes old runs, requests, rejected records, differences and readings of usage (decision 0113).
import type { Database } from "../../duckdb/database.ts";
import { instant } from "../../duckdb/duck-values.ts";
import { sqlText } from "../../duckdb/sql-files.ts";

/**
 * Removes what is older than `days` before `now` (ms since the epoch) and no longer needed, in one transaction. Sums of it
 * stay in sync.removed_requests and sync.removed_runs. The journal does not record it: a replay brings the rows back, and
 * the next sync removes them again.
 */
export const pruneLedger = (database: Database, days: number, now: number): Promise<void> =>
  database.transaction(
    async (tx) => {
      await tx.run(sqlText("retention/cutoff.sql"), [instant(now), days]);
      await tx.run(sqlText("retention/remove-ledger.sql"));
    },
    // Repeating it is harmless: what is gone is not added to the sums again.
    { isCommitted: async () => false },
  );
