// Budget book: counts a run's credits against the caps of the setting `budgets`. A request counts from when it is launched;
// its response decides whether it cost a credit.

import { z } from "zod";
import type { Ledger } from "../../../budget/credits/local-ledger.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Budgets } from "../../../core/config/planning/budget-settings.ts";
import type { Database } from "../../../warehouse/duckdb/database.ts";
import { instant } from "../../../warehouse/duckdb/duck-values.ts";
import { sqlText } from "../../../warehouse/duckdb/sql-files.ts";
import type { MirrorReader } from "../../../warehouse/read/mirror-reader.ts";
import { WORK } from "../../../warehouse/record/checkpoint.ts";
import { monthsLater, readLastQuota } from "../credits.ts";
import { allowedBy, type Cap, capsOf, covers, type Purpose, type Spent, spentUnder } from "./caps.ts";

// Reads what the ledger says was spent in this day and period, for budgets.

const spentRow = z
  .object({ stream: z.string(), work: z.enum(WORK).nullable(), of_day: z.number(), of_period: z.number() })
  .transform(({ of_day, of_period, ...purpose }) => ({ ...purpose, ofDay: of_day, ofPeriod: of_period }));

const DAY_MS = 86_400_000;

/** Start of the UTC day, ms since the epoch. */
export const dayStart = (now: number): number => now - (now % DAY_MS);

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

export interface BudgetBook {
  /** Some budget is configured; else there is always room. */
  readonly limits: boolean;
  /** `full`: no request may be sent now, but one under way may still be free; `spent`: none in this run. */
  room(purpose: Purpose): "some" | "full" | "spent";
  /** A request is about to be sent. */
  launch(purpose: Purpose): void;
  settle(purpose: Purpose, credits: number): void;
  /** Work was left out because a budget is spent. */
  leaveOut(purpose: Purpose): void;
  cut(): readonly string[];
}

interface Count {
  readonly cap: Cap;
  spent: number;
  flying: number;
}

/** `limit`: credits of the period as known now; null: not known. */
export const createBudgetBook = (input: {
  readonly budgets: Budgets;
  readonly spent: readonly Spent[];
  readonly now: () => number;
  readonly limit: () => number | null;
}): BudgetBook => {
  const { now, limit } = input;
  const counts: readonly Count[] = capsOf(input.budgets).map((cap) => ({
    cap,
    spent: spentUnder(cap, input.spent),
    flying: 0,
  }));
  const cut = new Set<string>();
  let day = dayStart(now());

  const under = (purpose: Purpose): readonly Count[] => {
    if (counts.length === 0) return counts;
    const today = dayStart(now());
    if (today !== day) {
      day = today;
      for (const count of counts) if (count.cap.per === "day") count.spent = 0;
    }
    return counts.filter(({ cap }) => covers(cap, purpose));
  };
  const isSpent = ({ cap, spent }: Count) => spent >= allowedBy(cap, limit());

  return {
    limits: counts.length > 0,
    room: (purpose) => {
      const mine = under(purpose);
      if (mine.some(isSpent)) return "spent";
      return mine.some(({ cap, spent, flying }) => spent + flying >= allowedBy(cap, limit())) ? "full" : "some";
    },
    launch: (purpose) => {
      for (const count of under(purpose)) count.flying += 1;
    },
    settle: (purpose, credits) => {
      for (const count of under(purpose)) {
        count.flying -= 1;
        count.spent += credits;
      }
    },
    leaveOut: (purpose) => {
      for (const { cap } of under(purpose).filter(isSpent)) cut.add(cap.name);
    },
    cut: () => [...cut],
  };
};

/** The book of one run, from what the ledger says was spent before. */
export const openBudgets = async (
  budgets: Budgets,
  { warehouse, ledger, clock }: { readonly warehouse: MirrorReader; readonly ledger: Ledger; readonly clock: Clock },
): Promise<BudgetBook> => {
  const quota = await readLastQuota(warehouse.database);
  const resetsAt = quota?.resetsAt ?? null;
  const spent = await readSpent(warehouse.database, { budgets, resetsAt, now: clock.now() });
  const limit = () => ledger.snapshot().limit ?? quota?.limit ?? null;
  return createBudgetBook({ budgets, spent, now: () => clock.now(), limit });
};
