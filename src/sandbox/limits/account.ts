// An organization's credits while requests are under way: a 200 costs one, everything else nothing.
// Source: API.md, "Limits".
import type { Clock } from "../../core/clock.ts";
import type { Quota } from "../../replica/envelope.ts";
import { advanceCredits, type CreditState, creditsLeft, quotaOf, refundCredit, spendCredit } from "./credits.ts";

/** One accepted request, which may still cost a credit or has cost it. */
export interface Charge {
  spent: boolean;
}

export interface Account {
  quota(): Quota;
  /** Accepts a request; null: no credit is left beside those that requests under way may cost. */
  accept(): Charge | null;
  spend(charge: Charge): void;
  /** The request's response has this status: only a 200 costs a credit, also one from an interceptor. */
  settle(charge: Charge, status: number): void;
}

export const openAccount = (start: CreditState, creditsPerMonth: number, clock: Clock): Account => {
  let credits = start;
  /** Number of accepted requests that may still cost a credit. */
  let pending = 0;
  const current = (): CreditState => {
    credits = advanceCredits(credits, clock.now(), creditsPerMonth);
    return credits;
  };
  const spend = (charge: Charge): void => {
    if (charge.spent) return;
    credits = spendCredit(current());
    charge.spent = true;
    pending--;
  };
  return {
    quota: () => quotaOf(current()),
    accept: () => {
      if (creditsLeft(current()) - pending <= 0) return null;
      pending++;
      return { spent: false };
    },
    spend,
    settle: (charge, status) => {
      if (status === 200) spend(charge);
      else if (charge.spent) credits = refundCredit(current());
      else pending--;
    },
  };
};
