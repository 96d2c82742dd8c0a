// Caps: the credits that the setting `budgets` allows each stream and kind of work, and the work that a plan must leave out to
// keep to them. Pure.
import type { BudgetedWork, Budgets, CreditCap } from "../../../core/config/planning/budget-settings.ts";
import type { Work } from "../../../warehouse/record/checkpoint.ts";
import type { ScopeMode } from "../../list/order.ts";
import type { Candidate } from "../candidate.ts";

/** One limit, of a stream or a kind of work. */
export interface Cap {
  /** Its name in the configuration, e.g. `account_insights.per_day`. */
  readonly name: string;
  readonly of: { readonly stream: string } | { readonly work: Work };
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

const WORK_OF_MODE: Readonly<Record<ScopeMode, Work>> = {
  walk: "walk",
  watermark: "look",
  filter: "look",
  known: "look",
  log: "reading",
  capture: "reading",
  "on-change": "record",
  resolve: "record",
  detail: "content",
};

export const workOf = (mode: ScopeMode): Work => WORK_OF_MODE[mode];

export const capsOf = (budgets: Budgets): readonly Cap[] =>
  Object.entries(budgets).flatMap(([name, { perDay, perPeriod }]): readonly Cap[] => {
    const of = isBudgetedWork(name) ? { work: WORK_OF_BUDGET[name] } : { stream: name };
    const cap = (per: Cap["per"], allowed: CreditCap | null): readonly Cap[] =>
      allowed === null ? [] : [{ name: `${name}.per_${per}`, of, per, allowed }];
    return [...cap("day", perDay), ...cap("period", perPeriod)];
  });

/** True when credits of this purpose count towards the cap. */
export const covers = ({ of }: Cap, { stream, work }: Purpose): boolean =>
  "stream" in of ? of.stream === stream : of.work === work;

/** Credits that a cap allows. `limit`: credits of the period; null: not known, so a share of them allows everything. */
export const allowedBy = ({ allowed }: Cap, limit: number | null): number => {
  if ("credits" in allowed) return allowed.credits;
  return limit === null ? Number.POSITIVE_INFINITY : Math.floor(allowed.share * limit);
};

export const spentUnder = (cap: Cap, spent: readonly Spent[]): number =>
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
