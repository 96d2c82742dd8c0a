// Credits of the period for a plan: reads the quota that the service last reported, and what past resets have shown of unused credits, and
// brings both forward to now. Writes nothing. Source: API.md, "Limits".
import { z } from "zod";
import type { Quota } from "../../api/outcome.ts";
import { type Grant, remainingIn } from "../../budget/credits/ledger.ts";
import { type RollOver, rollOverOf, UNKNOWN_ROLL_OVER } from "../../budget/credits/roll-over.ts";
import type { Database } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { instant } from "../../warehouse/duckdb/statements.ts";

const leftRow = z
  .object({ credit_limit: z.number().nullable(), remaining: z.number(), resets_at: z.number().nullable() })
  .transform(({ credit_limit: limit, remaining, resets_at: resetsAt }) => ({ limit, remaining, resetsAt }));

/** Credits left by the latest reading of this period, less those spent since; null: there is none. `now`: ms since the epoch. */
export const readCreditsLeft = async (database: Database, now: number): Promise<Omit<Quota, "used"> | null> =>
  (await database.query(sqlText("plan/credits-left.sql"), [instant(now)], leftRow))[0] ?? null;

const quotaRow = z
  .object({
    credit_limit: z.number().nullable(),
    used: z.number().nullable(),
    remaining: z.number().nullable(),
    resets_at: z.number().nullable(),
  })
  .transform(({ credit_limit: limit, resets_at: resetsAt, ...row }) => ({ ...row, limit, resetsAt }));

export const readLastQuota = async (database: Database): Promise<Quota | null> =>
  (await database.query(sqlText("plan/last-quota.sql"), [], quotaRow))[0] ?? null;

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

export const readRollOver = async (database: Database): Promise<RollOver> =>
  rollOverOf(await database.query(sqlText("plan/period-readings.sql"), [], periodRow));

/** What a period grants, for pacing: only if unused credits were seen to come over. */
export const grantOf = ({ shown, grant, periodMs }: RollOver): { readonly rollsOver?: Grant } =>
  shown === "seen" && grant !== null && periodMs !== null ? { rollsOver: { credits: grant, periodMs } } : {};

/** What is known of the current period. */
export interface Credits {
  /** Credits of the period used so far. */
  readonly used: number | null;
  readonly remaining: number | null;
  readonly limit: number | null;
  /** ms since the epoch. */
  readonly resetsAt: number | null;
}

/** The same day and time some months later, or the last day of that month: a month after 31 January is 28 February. */
export const monthsLater = (time: number, months: number): number => {
  const date = new Date(time);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months, 1);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, lastDay));
};

/**
 * Figures of the current period. If the reset that the reading names is over, no figure of the new period is known: its
 * credits are granted, and what was left comes over, unless an earlier reset has shown that it does not. After more than
 * one missed reset nothing is known.
 */
export const creditsNow = (reading: Quota | null, now: number, rollOver: RollOver = UNKNOWN_ROLL_OVER): Credits => {
  if (reading === null) return { used: null, remaining: null, limit: null, resetsAt: null };
  const { limit, used } = reading;
  const remaining = remainingIn(reading);
  if (reading.resetsAt === null || now < reading.resetsAt)
    return { used, remaining, limit, resetsAt: reading.resetsAt };
  const resetsAt = monthsLater(reading.resetsAt, 1);
  const grant = rollOver.grant ?? limit;
  if (grant === null || remaining === null || now >= resetsAt)
    return { used: null, remaining: null, limit, resetsAt: null };
  return { used: 0, remaining: grant + (rollOver.shown === "absent" ? 0 : remaining), limit: grant, resetsAt };
};
