// Budget book: counts a run's credits against the caps of the setting `budgets`. A request counts from when it is launched;
// its response decides whether it cost a credit.

import type { Ledger } from "../../../budget/credits/local-ledger.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Budgets } from "../../../core/config/planning/budget-settings.ts";
import type { MirrorReader } from "../../../warehouse/read/mirror-reader.ts";
import { readLastQuota } from "../mirror-view.ts";
import { allowedBy, type Cap, capsOf, covers, type Purpose, type Spent, spentUnder } from "./caps.ts";
import { dayStart, readSpent } from "./spending.ts";

export interface BudgetBook {
  /** `full`: no request may be sent now, but one under way may still be free; `spent`: none in this run. */
  room(purpose: Purpose): "some" | "full" | "spent";
  /** A request is about to be sent. */
  launch(purpose: Purpose): void;
  /** It is answered: `credits` it cost, retries included. */
  settle(purpose: Purpose, credits: number): void;
  /** Work was left out because a budget is spent. */
  leaveOut(purpose: Purpose): void;
  /** Budgets that left work out. */
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
