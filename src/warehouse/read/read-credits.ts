// Reads the credits that `status` shows: the service's last figures, this mirror's spending, and requests with an unknown charge. Includes
// requests of other commands that the next sync will load (journal/call-lines.ts).
import { z } from "zod";
import type { Database } from "../duckdb/database.ts";
import { sqlText, textsOf } from "../duckdb/sql-files.ts";
import { readCallFiles } from "../journal/journal.ts";
import { type LookCredits, lookCreditsRow } from "./looks.ts";

const count = z.number();

const undecidedRow = z.object({
  request_id: z.string(),
  run_id: z.string(),
  endpoint: z.string(),
  url: z.string(),
  started_at: count,
  error: z.string().nullable(),
});

/** A request of `check`, `lookup` or `feedback` that is not in the snapshot's ledger yet. */
interface PendingCall {
  readonly startedAt: number;
  /** It cost a credit, or may have. */
  readonly costs: boolean;
}

const pendingCalls = async (database: Database, dataDir: string): Promise<readonly PendingCall[]> => {
  const calls = (await readCallFiles(dataDir)).flatMap(({ answered, open }) => [
    ...answered.map(({ requestId, startedAt, charge }) => ({ requestId, startedAt, costs: charge !== "free" })),
    ...open.map(({ requestId, at }) => ({ requestId, startedAt: at, costs: true })),
  ]);
  if (calls.length === 0) return [];
  const ids = JSON.stringify(calls.map(({ requestId }) => requestId));
  const known = new Set(await textsOf(database, sqlText("status/booked-calls.sql"), [ids]));
  return calls.filter(({ requestId }) => !known.has(requestId));
};

/**
 * Reads the credits from the snapshot in `dataDir`, or takes `newer`: the figures of a later sync that published nothing. Times are
 * ms since the epoch.
 */
export const readCredits = async (database: Database, dataDir: string, newer: LookCredits | null) => {
  const row = newer ?? (await database.query(sqlText("status/credits.sql"), [], lookCreditsRow))[0];
  const undecided = await database.query(sqlText("status/undecided.sql"), [], undecidedRow);
  const pending = await pendingCalls(database, dataDir);
  if (row === undefined) return { credits: null, undecided, pending: pending.length };
  const { used, captured_at: capturedAt, spent_here: spentHere, ambiguous_here: ambiguousHere } = row;
  const counted = pending.filter(({ costs, startedAt }) => costs && startedAt <= capturedAt).length;
  /** Most of `used` that may be this mirror's own, and the least that must be. */
  const most = spentHere + ambiguousHere + counted;
  const least = spentHere - row.late_here;
  const credits = {
    limit: row.credit_limit,
    used,
    remaining: row.remaining,
    resetsAt: row.resets_at,
    capturedAt,
    /** Credits this mirror spent in the period (without a known reset: in a month), and requests with an unknown charge. */
    spentHere,
    ambiguousHere,
    /** Credits that no request of this mirror can explain; null: unknown, because the start of the period is unknown. */
    spentByOthers: used === null || row.resets_at === null ? null : Math.max(0, used - most),
    /** Credits that this mirror certainly spent and the service does not count. */
    uncounted: used === null || row.resets_at === null ? 0 : Math.max(0, least - used),
  };
  return { credits, undecided, pending: pending.length };
};

export type CreditStatus = Awaited<ReturnType<typeof readCredits>>;
