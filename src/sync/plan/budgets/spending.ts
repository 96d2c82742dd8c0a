// Reads what the ledger says was spent in this day and period, for budgets.
import { z } from "zod";
import type { Budgets } from "../../../core/config/planning/budget-settings.ts";
import type { Database } from "../../../warehouse/duckdb/database.ts";
import { instant } from "../../../warehouse/duckdb/duck-values.ts";
import { sqlText } from "../../../warehouse/duckdb/sql-files.ts";
import { WORK } from "../../../warehouse/record/checkpoint.ts";
import { capsOf, type Spent } from "./caps.ts";

const spentRow = z
  .object({ stream: z.string(), work: z.enum(WORK).nullable(), of_day: z.number(), of_period: z.number() })
  .transform(({ of_day, of_period, ...purpose }) => ({ ...purpose, ofDay: of_day, ofPeriod: of_period }));

const DAY_MS = 86_400_000;

/** Start of the UTC day, ms since the epoch. */
export const dayStart = (now: number): number => now - (now % DAY_MS);

const monthsLater = (time: number, months: number): number => {
  const date = new Date(time);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months, 1);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, lastDay));
};

/**
 * Start of the period of the quota, which lasts a month (API.md, Limits). `resetsAt`: its end, or that of an earlier
 * period; null: not known, the UTC month counts.
 */
export const periodStart = (now: number, resetsAt: number | null): number => {
  if (resetsAt === null) return Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth(), 1);
  let months = -1;
  while (monthsLater(resetsAt, months) > now) months -= 1;
  while (monthsLater(resetsAt, months + 1) <= now) months += 1;
  return monthsLater(resetsAt, months);
};

/** Credits spent before, by purpose; a request without a response counts. Empty without budgets. */
export const readSpent = async (
  database: Database,
  { budgets, resetsAt, now }: { readonly budgets: Budgets; readonly resetsAt: number | null; readonly now: number },
): Promise<readonly Spent[]> => {
  if (capsOf(budgets).length === 0) return [];
  const since = [instant(periodStart(now, resetsAt)), instant(dayStart(now))];
  return database.query(sqlText("plan/spent-by-work.sql"), since, spentRow);
};
