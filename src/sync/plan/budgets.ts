// Budgets: the setting `budgets` limits the credits of a stream or a kind of work. Decides which work a plan must leave out, and counts a
// run's credits against each budget while it runs.
import { z } from "zod";
import type { Ledger } from "../../budget/credits/local-ledger.ts";
import type { Clock } from "../../core/clock.ts";
import type { BudgetedWork, Budgets, CreditCap } from "../../core/config/planning/budget-settings.ts";
import type { Database } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { instant } from "../../warehouse/duckdb/statements.ts";
import type { MirrorReader } from "../../warehouse/read/mirror-reader.ts";
import { WORK, type Work } from "../../warehouse/record/checkpoint.ts";
import { workOf } from "../list/state.ts";
import type { Candidate } from "./candidate.ts";
import { monthsLater, readLastQuota } from "./credits.ts";

/** What a budget is of. */
type Budgeted = { readonly stream: string } | { readonly work: Work };

/** One limit, of a stream or a kind of work. */
interface Cap {
  /** Its name in the configuration, e.g. `account_insights.per_day`. */
  readonly name: string;
  readonly of: Budgeted;
  readonly per: "day" | "period";
  readonly allowed: CreditCap;
}

/** What a credit is spent on. `work` null: not known. */
export interface Purpose {
  readonly stream: string;
  readonly work: Work | null;
}

/** Credits spent before, by purpose. */
export interface Spent extends Purpose {
  readonly ofDay: number;
  readonly ofPeriod: number;
}

/** A cap, and the credits of due work that it leaves out. */
export interface Cut {
  readonly budget: string;
  /** Credits that it allows per day or period. */
  readonly allowed: number;
  readonly spent: number;
  readonly leftOut: number;
}

const WORK_OF_BUDGET: Readonly<Record<BudgetedWork, Work>> = {
  looks: "look",
  walks: "walk",
  content: "content",
  verify: "verify",
};
const isBudgetedWork = (name: string): name is BudgetedWork => Object.hasOwn(WORK_OF_BUDGET, name);

const budgeted = (name: string): Budgeted => (isBudgetedWork(name) ? { work: WORK_OF_BUDGET[name] } : { stream: name });

const capsOf = (budgets: Budgets): readonly Cap[] =>
  Object.entries(budgets).flatMap(([name, { perDay, perPeriod }]): readonly Cap[] => {
    const of = budgeted(name);
    const cap = (per: Cap["per"], allowed: CreditCap | null): readonly Cap[] =>
      allowed === null ? [] : [{ name: `${name}.per_${per}`, of, per, allowed }];
    return [...cap("day", perDay), ...cap("period", perPeriod)];
  });

/** True when credits of this purpose count towards the cap. */
const covers = ({ of }: Pick<Cap, "of">, { stream, work }: Purpose): boolean =>
  "stream" in of ? of.stream === stream : of.work === work;

/** The budgets of this purpose: that of its stream, and that of its work. */
export const budgetsOf = (budgets: Budgets, purpose: Purpose) =>
  Object.entries(budgets)
    .map(([name, budget]) => ({ ...budget, of: budgeted(name) }))
    .filter((budget) => covers(budget, purpose));

/** Credits that a cap allows. `limit`: credits of the period; null: not known, so a share of them allows everything. */
const allowedBy = ({ allowed }: Cap, limit: number | null): number => {
  if ("credits" in allowed) return allowed.credits;
  return limit === null ? Number.POSITIVE_INFINITY : Math.floor(allowed.share * limit);
};

const spentUnder = (cap: Cap, spent: readonly Spent[]): number =>
  spent
    .filter((part) => covers(cap, part))
    .reduce((sum, { ofDay, ofPeriod }) => sum + (cap.per === "day" ? ofDay : ofPeriod), 0);

/**
 * The part of a plan for which the budgets have credits, most valuable work first, and what they leave out. A list of
 * unknown length counts as one request.
 */
export const withinBudgets = (
  candidates: readonly Candidate[],
  {
    budgets,
    spent,
    limit,
  }: { readonly budgets: Budgets; readonly spent: readonly Spent[]; readonly limit: number | null },
): { readonly candidates: readonly Candidate[]; readonly cuts: readonly Cut[] } => {
  const caps = capsOf(budgets).map((cap) => {
    const allowed = allowedBy(cap, limit);
    const before = spentUnder(cap, spent);
    return { cap, allowed, before, room: Math.max(0, allowed - before), leftOut: 0 };
  });
  const within = candidates.flatMap((candidate): readonly Candidate[] => {
    const wanted = candidate.requests ?? 1;
    const mine = caps.filter(({ cap }) => covers(cap, { stream: candidate.stream, work: workOf(candidate.mode) }));
    const granted = Math.min(wanted, ...mine.map(({ room }) => room));
    for (const state of mine) {
      if (state.room < wanted) state.leftOut += wanted - Math.min(wanted, state.room);
      state.room -= granted;
    }
    if (granted === wanted) return [candidate];
    return granted === 0 ? [] : [{ ...candidate, requests: granted }];
  });
  const cuts = caps
    .filter(({ leftOut }) => leftOut > 0)
    .map(({ cap, allowed, before, leftOut }) => ({ budget: cap.name, allowed, spent: before, leftOut }));
  return { candidates: within, cuts };
};

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

/** Counts a run's credits. A request counts from when it is launched; its response decides whether it cost a credit. */
export type BudgetTracker = ReturnType<typeof createBudgetBook>;

interface Count {
  readonly cap: Cap;
  spent: number;
  flying: number;
}

/** `limit`: credits of the period as known now; null: not known. */
const createBudgetBook = (input: {
  readonly budgets: Budgets;
  readonly spent: readonly Spent[];
  readonly now: () => number;
  readonly limit: () => number | null;
}) => {
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
    /** Some budget is configured; else there is always room. */
    limits: counts.length > 0,
    /** `full`: no request may be sent now, but one under way may still be free; `spent`: none in this run. */
    room: (purpose: Purpose): "some" | "full" | "spent" => {
      const mine = under(purpose);
      if (mine.some(isSpent)) return "spent";
      return mine.some(({ cap, spent, flying }) => spent + flying >= allowedBy(cap, limit())) ? "full" : "some";
    },
    /** A request is about to be sent. */
    launch: (purpose: Purpose): void => {
      for (const count of under(purpose)) count.flying += 1;
    },
    settle: (purpose: Purpose, credits: number): void => {
      for (const count of under(purpose)) {
        count.flying -= 1;
        count.spent += credits;
      }
    },
    /** Work was left out because a budget is spent. */
    leaveOut: (purpose: Purpose): void => {
      for (const { cap } of under(purpose).filter(isSpent)) cut.add(cap.name);
    },
    cut: (): readonly string[] => [...cut],
  };
};

/** The book of one run, from what the ledger says was spent before. */
export const openBudgetTracker = async (
  budgets: Budgets,
  { warehouse, ledger, clock }: { readonly warehouse: MirrorReader; readonly ledger: Ledger; readonly clock: Clock },
): Promise<BudgetTracker> => {
  const quota = await readLastQuota(warehouse.database);
  const resetsAt = quota?.resetsAt ?? null;
  const spent = await readSpent(warehouse.database, { budgets, resetsAt, now: clock.now() });
  const limit = () => ledger.snapshot().limit ?? quota?.limit ?? null;
  return createBudgetBook({ budgets, spent, now: () => clock.now(), limit });
};
