// Readings of the quota in the mirror: what the resets so far have shown of unused credits. Writes nothing.
import { z } from "zod";
import type { Grant } from "../../budget/credits/ledger.ts";
import { type RollOver, rollOverOf } from "../../budget/credits/roll-over.ts";
import type { Database } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";

const periodRow = z
  .object({
    resets_at: z.number(),
    first_at: z.number(),
    last_at: z.number(),
    first_limit: z.number(),
    first_used: z.number(),
    first_remaining: z.number(),
    last_limit: z.number(),
    last_used: z.number(),
    last_remaining: z.number(),
  })
  .transform(({ resets_at: resetsAt, ...row }) => ({
    first: { limit: row.first_limit, used: row.first_used, remaining: row.first_remaining, resetsAt },
    last: { limit: row.last_limit, used: row.last_used, remaining: row.last_remaining, resetsAt },
    firstAt: row.first_at,
    lastAt: row.last_at,
  }));

/** What the resets so far have shown. */
export const readRollOver = async (database: Database): Promise<RollOver> =>
  rollOverOf(await database.query(sqlText("plan/period-readings.sql"), [], periodRow));

/** What a period grants, for pacing: only if unused credits were seen to come over. */
export const grantOf = ({ shown, grant, periodMs }: RollOver): { readonly rollsOver?: Grant } =>
  shown === "seen" && grant !== null && periodMs !== null ? { rollsOver: { credits: grant, periodMs } } : {};
