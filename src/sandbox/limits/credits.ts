// Credits of a sandbox's organization: a number per month; unused ones roll over for up to three cycles. PURE arithmetic; the account
// stores the results. Source: API.md, "Limits".
import type { Quota } from "../../replica/envelope.ts";

// THE table of plans: requests per minute (API.md, "Limits") and credits per month (API.md shows only the free
// plan's).

interface Plan {
  readonly requestsPerMinute: number;
  readonly creditsPerMonth: number;
}

export const PLANS = {
  free: { requestsPerMinute: 10, creditsPerMonth: 100 },
  build: { requestsPerMinute: 60, creditsPerMonth: 5_000 },
  scale: { requestsPerMinute: 120, creditsPerMonth: 25_000 },
  pro: { requestsPerMinute: 300, creditsPerMonth: 100_000 },
  // Custom: high enough to have no effect unless an option changes it.
  enterprise: { requestsPerMinute: 100_000, creditsPerMonth: 10_000_000 },
} as const satisfies Record<string, Plan>;

export type PlanName = keyof typeof PLANS;

/** True when the text names a plan. */
export const isPlanName = (name: string): name is PlanName => Object.hasOwn(PLANS, name);

/** Number of later cycles in which an unused credit can be spent. */
const ROLL_OVER_CYCLES = 3;

export interface CreditState {
  /** Months since year 0: the billing cycle. */
  readonly cycle: number;
  /** Unspent credits by the cycle that granted them, oldest first. */
  readonly grants: readonly { readonly cycle: number; readonly left: number }[];
  /** Credits spent in this cycle. */
  readonly used: number;
}

const cycleOf = (now: number): number => {
  const date = new Date(now);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
};

const cycleStart = (cycle: number): number => Date.UTC(Math.floor(cycle / 12), cycle % 12, 1);

/** A new organization in the cycle of `now`, with `used` credits spent already. */
export const openCredits = (now: number, perMonth: number, used = 0): CreditState => {
  const cycle = cycleOf(now);
  return { cycle, grants: [{ cycle, left: Math.max(0, perMonth - used) }], used };
};

/** The state at `now`: each new month adds its credits; credits older than three cycles expire. */
export const advanceCredits = (state: CreditState, now: number, perMonth: number): CreditState => {
  const cycle = cycleOf(now);
  if (cycle <= state.cycle) return state;
  const fresh = Array.from({ length: cycle - state.cycle }, (_, index) => ({
    cycle: state.cycle + index + 1,
    left: perMonth,
  }));
  const grants = [...state.grants, ...fresh].filter(
    (grant) => grant.left > 0 && grant.cycle >= cycle - ROLL_OVER_CYCLES,
  );
  return { cycle, grants, used: 0 };
};

/** Credits that can be spent now. */
export const creditsLeft = (state: CreditState): number => state.grants.reduce((sum, { left }) => sum + left, 0);

/** Spends one credit, the oldest first. */
export const spendCredit = (state: CreditState): CreditState => {
  const index = state.grants.findIndex(({ left }) => left > 0);
  const grants = state.grants.map((grant, at) => (at === index ? { ...grant, left: grant.left - 1 } : grant));
  return { ...state, grants, used: state.used + 1 };
};

/** Refunds one credit, when the request did not end in a 200. */
export const refundCredit = (state: CreditState): CreditState => {
  const [oldest = { cycle: state.cycle, left: 0 }, ...others] = state.grants;
  return { ...state, grants: [{ ...oldest, left: oldest.left + 1 }, ...others], used: Math.max(0, state.used - 1) };
};

/** The quota as the service reports it; it resets on the first of next month, UTC. */
export const quotaOf = (state: CreditState): Quota => {
  const remaining = creditsLeft(state);
  return { limit: state.used + remaining, used: state.used, remaining, resetsAt: cycleStart(state.cycle + 1) };
};
