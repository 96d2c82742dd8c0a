// Credit ledger: reserves before a request, settles after it, trusts the service's figures. Pure: stores keep the
// results. Source: API.md, "Limits" (one credit per 200) and "Envelope objects" (usage).
import type { Quota } from "../../api/outcome.ts";

/** Limits set by the user. */
export interface Limits {
  /** Most credits of this run; null: no limit of its own. */
  readonly maxCredits: number | null;
  /** Credits of the organization that must remain. */
  readonly reserve: number;
  /** `greedy`: the run may spend all remaining credits. `even`: an equal share for each run until the reset. */
  readonly pace: "even" | "greedy";
  /** Time between two runs, in ms. With pace `even` it gives the number of runs that share the credits. */
  readonly runEveryMs: number;
  /**
   * What a period grants, if unused credits were seen to come over into the next one (roll-over.ts); unset: they were not,
   * and pace `even` spends all of them until the reset.
   */
  readonly rollsOver?: Grant | undefined;
}

/** Credits that each period grants. */
export interface Grant {
  readonly credits: number;
  readonly periodMs: number;
}

export type Charge = "spent" | "free" | "ambiguous";
export type Denial = "BUDGET_SPENT" | "QUOTA_SPENT";

/** The service's figures for this period. */
interface Period {
  readonly limit: number | null;
  /** Lowest figure seen: responses overtake one another, and within a period credits only decrease. */
  readonly remaining: number | null;
  readonly resetsAt: number | null;
}

/** Figures at a time without requests in flight: the service's remaining credits and the ledger's counts. */
interface Baseline {
  readonly remaining: number;
  readonly spent: number;
}

export interface LedgerState {
  readonly limits: Limits;
  readonly spent: number;
  readonly reserved: number;
  /** Times of requests without a response, ms since the epoch; each may have cost a credit. */
  readonly ambiguous: readonly number[];
  readonly period: Period | null;
  /** Times of charged requests that `remaining` may not include yet. */
  readonly unseen: readonly number[];
  /** Ambiguous requests that `remaining` may not include yet. */
  readonly unseenAmbiguous: readonly number[];
  /** The request settled last was charged, and the next observation comes from it and includes it. */
  readonly reporting: boolean;
  /** Most credits of this run by even pacing, or to keep the reserve; null: neither, or the period is unknown. */
  readonly paced: number | null;
  readonly baseline: Baseline | null;
}

export interface LedgerSnapshot {
  readonly spent: number;
  readonly ambiguous: number;
  readonly reserved: number;
  /** Credits that this run may spend in total, including those spent; null: no known limit. */
  readonly allowance: number | null;
  readonly remaining: number | null;
  readonly limit: number | null;
  readonly resetsAt: number | null;
}

/** Ends of periods closer than this are the same: some services compute the end from the present time. */
const SAME_PERIOD_MS = 3_600_000;
/** The service may still handle an abandoned request for this long; until then no figure settles it. */
const AFTERMATH_MS = 60_000;
const MOST_OVERLAPPING = 1_000;

export const openLedger = (limits: Limits): LedgerState => ({
  limits,
  spent: 0,
  reserved: 0,
  ambiguous: [],
  period: null,
  unseen: [],
  unseenAmbiguous: [],
  reporting: false,
  paced: null,
  baseline: null,
});

const committed = (state: LedgerState): number => state.spent + state.ambiguous.length + state.reserved;

/** Most credits of this run by the user's limits, whatever the service has left. */
const ownLimit = ({ limits, paced }: LedgerState): number => Math.min(limits.maxCredits ?? Infinity, paced ?? Infinity);

/** Credits left upstream minus requests that the figure may not include; null: unknown, or the period is over. */
const leftUpstream = ({ period, reserved, unseen, unseenAmbiguous }: LedgerState, now: number): number | null => {
  if (period === null || period.remaining === null) return null;
  if (period.resetsAt !== null && now >= period.resetsAt) return null;
  return period.remaining - reserved - unseen.length - unseenAmbiguous.length;
};

export type Reservation =
  | { readonly ok: true; readonly state: LedgerState }
  | { readonly ok: false; readonly code: Denial; readonly settling: boolean };

/**
 * Reserves one credit. Denied with BUDGET_SPENT by the user's limits, with QUOTA_SPENT when the organization has none
 * left; `settling`: a request in flight may still refund its credit or bring a new figure.
 */
export const reserve = (state: LedgerState, now: number): Reservation => {
  const deny = (code: Denial): Reservation => ({ ok: false, code, settling: state.reserved > 0 });
  if (committed(state) + 1 > ownLimit(state)) return deny("BUDGET_SPENT");
  const left = leftUpstream(state, now);
  const { limits } = state;
  if (left === null) {
    // Until the first response shows the remaining credits, send one request at a time, to protect the reserve.
    const careful = limits.reserve > 0 || limits.pace === "even";
    if (careful && state.reserved > 0) return deny("BUDGET_SPENT");
  } else {
    if (left < 1) return deny("QUOTA_SPENT");
    if (left - limits.reserve < 1) return deny("BUDGET_SPENT");
  }
  return { ok: true, state: { ...state, reserved: state.reserved + 1 } };
};

/** Settles a reserved credit. Ambiguous requests count as spent until the service's figures settle them. */
export const settle = (state: LedgerState, charge: Charge, at: number): LedgerState => {
  const open = { ...state, reserved: Math.max(0, state.reserved - 1), reporting: charge === "spent" };
  switch (charge) {
    case "free":
      return open;
    case "spent": {
      // Before the first figure only requests count that may overlap its own: a service without figures must not fill memory.
      const recent = state.period === null ? state.unseen.slice(-MOST_OVERLAPPING) : state.unseen;
      return { ...open, spent: state.spent + 1, unseen: [...recent, at] };
    }
    case "ambiguous":
      return {
        ...open,
        ambiguous: [...state.ambiguous, at],
        unseenAmbiguous: [...state.unseenAmbiguous, at],
      };
    default:
      return charge satisfies never;
  }
};

/** Remaining credits by the service's figures; null: not reported. */
export const remainingIn = ({ remaining, limit, used }: Quota): number | null => {
  const left = remaining ?? (limit !== null && used !== null ? limit - used : null);
  return left === null ? null : Math.max(0, Math.floor(left));
};

/** Whether the figure belongs to the ledger's period, a later one, or an earlier one. */
export const periodOf = (
  known: Pick<Period, "resetsAt"> | null,
  resetsAt: number | null,
): "same" | "later" | "earlier" => {
  if (known === null) return "later";
  if (resetsAt === null || known.resetsAt === null) return "same";
  const apart = resetsAt - known.resetsAt;
  return Math.abs(apart) < SAME_PERIOD_MS ? "same" : apart > 0 ? "later" : "earlier";
};

/**
 * Share of this run: remaining credits above the reserve, including its own, divided by the runs until the reset. Where
 * unused credits come over, those of this period and of the next one are shared by the runs of both: else the last runs of
 * a period spend what runs before them left, and the next one starts with less. Credits that came over from earlier
 * periods are shared until the reset, since they may lapse there.
 */
const pacedShare = (limits: Limits, quota: Quota, left: number, now: number): number | null => {
  const { resetsAt, used } = quota;
  if (limits.pace === "greedy" || resetsAt === null) return null;
  const runs = Math.max(1, Math.ceil((resetsAt - now) / limits.runEveryMs));
  const free = Math.max(0, left - limits.reserve);
  const { rollsOver } = limits;
  if (rollsOver === undefined || used === null) return Math.max(1, Math.floor(free / runs));
  const own = Math.min(free, Math.max(0, rollsOver.credits - used));
  const both = (own + rollsOver.credits) / (runs + rollsOver.periodMs / limits.runEveryMs);
  return Math.max(1, Math.floor((free - own) / runs + Math.min(own / runs, both)));
};

/** With nothing in flight, the decrease of `remaining` shows how many ambiguous requests were charged. */
const settleAmbiguous = (state: LedgerState, remaining: number, sentAt: number): LedgerState => {
  if (state.reserved > 0 || state.unseen.length > 0) return state;
  const known = { ...state, baseline: { remaining, spent: state.spent } };
  if (state.ambiguous.length === 0) return known;
  const old = state.ambiguous.every((at) => at + AFTERMATH_MS < sentAt);
  if (!old || state.baseline === null) return state;
  const unexplained = state.baseline.remaining - remaining - (state.spent - state.baseline.spent);
  // Credits were refunded or added meanwhile, so the figures settle nothing and the ledger stays cautious.
  if (unexplained < 0) return state;
  const spent = state.spent + Math.min(unexplained, state.ambiguous.length);
  return { ...known, spent, ambiguous: [], unseenAmbiguous: [], baseline: { remaining, spent } };
};

/**
 * With a figure of a period that ended long ago by this clock, which may be ahead, the run leaves the reserve alone: nothing
 * else says what is left.
 */
const keptReserve = (state: LedgerState, sentAt: number): LedgerState => {
  const { limits, period, paced, reserved, unseen, unseenAmbiguous } = state;
  if (paced !== null || period === null || period.remaining === null) return state;
  if (period.resetsAt === null || sentAt < period.resetsAt + SAME_PERIOD_MS) return state;
  const free = period.remaining - limits.reserve - unseen.length - unseenAmbiguous.length;
  return { ...state, paced: committed(state) - reserved + Math.max(0, free) };
};

/**
 * Applies figures from a response to a request sent at `sentAt`. Settle that request first, because its credit is
 * part of the figure. The service's figure always wins; of several in one period, the lowest.
 */
export const observe = (state: LedgerState, quota: Quota, sentAt: number, now: number): LedgerState => {
  const remaining = remainingIn(quota);
  const relation = periodOf(state.period, quota.resetsAt);
  if (remaining === null || relation === "earlier") return { ...state, reporting: false };
  const reported = state.reporting ? state.unseen.slice(0, -1) : state.unseen;
  const seen: LedgerState = {
    ...state,
    reporting: false,
    unseen: reported.filter((at) => at >= sentAt),
    unseenAmbiguous: state.unseenAmbiguous.filter((at) => at + AFTERMATH_MS >= sentAt),
  };
  let next: LedgerState;
  if (relation === "same") {
    const lowest = Math.min(remaining, state.period?.remaining ?? Infinity);
    const resetsAt = quota.resetsAt ?? state.period?.resetsAt ?? null;
    next = { ...seen, period: { limit: quota.limit ?? state.period?.limit ?? null, remaining: lowest, resetsAt } };
  } else {
    // When this is the first period, credits spent so far count in this run's share only if the figure includes them.
    const first = state.period === null;
    const before = committed(state) - state.reserved;
    const share = pacedShare(state.limits, quota, remaining + (first ? before : 0), now);
    const period = { limit: quota.limit, remaining, resetsAt: quota.resetsAt };
    const paced = share === null ? null : share + (first ? 0 : before);
    next = { ...seen, period, paced, baseline: null, unseenAmbiguous: [] };
  }
  const kept = state.limits.reserve === 0 ? next : keptReserve(next, sentAt);
  return settleAmbiguous(kept, kept.period?.remaining ?? remaining, sentAt);
};

export const snapshotOf = (state: LedgerState, now: number): LedgerSnapshot => {
  const left = leftUpstream(state, now);
  const upstream = left === null ? Infinity : committed(state) + Math.max(0, left - state.limits.reserve);
  const allowance = Math.min(ownLimit(state), upstream);
  const remaining = state.period?.remaining ?? null;
  return {
    spent: state.spent,
    ambiguous: state.ambiguous.length,
    reserved: state.reserved,
    allowance: Number.isFinite(allowance) ? allowance : null,
    // Requests charged since the last figure are spent too: usage routes cost a credit and return no usage block.
    remaining: remaining === null ? null : Math.max(0, remaining - state.unseen.length),
    limit: state.period?.limit ?? null,
    resetsAt: state.period?.resetsAt ?? null,
  };
};

/** Credits that a run may spend if these are the service's figures at its start; null: no known limit. */
export const allowanceAt = (limits: Limits, credits: Quota, now: number): number | null =>
  snapshotOf(observe(openLedger(limits), credits, now, now), now).allowance;

// Finds the latest of several quota figures: responses overtake one another, so the last to arrive may have been computed first.

/** A `usage` block and the times of its request and response; ms since the epoch. */
export interface QuotaSeen {
  readonly quota: Quota;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Allowance for different clocks, and for services that count a moment after they respond. */
const SURELY_AFTER_MS = 5_000;

/**
 * True when `seen`, which arrived after `known`, is also the service's later figure. Within a period `used` grows, so
 * of two concurrent requests the higher figure is later. Refunded or bought credits show in a response to a request
 * that was sent after `known` had arrived.
 */
export const isLaterQuota = (known: QuotaSeen | null, seen: QuotaSeen): boolean => {
  if (known === null) return true;
  const relation = periodOf(known.quota, seen.quota.resetsAt);
  if (relation !== "same") return relation === "later";
  if (seen.sentAt > known.receivedAt + SURELY_AFTER_MS) return true;
  const [before, now] = [known.quota, seen.quota];
  if (before.used !== null && now.used !== null && before.used !== now.used) return now.used > before.used;
  if (before.limit !== null && now.limit !== null && before.limit !== now.limit) return now.limit > before.limit;
  return (remainingIn(now) ?? 0) <= (remainingIn(before) ?? 0);
};
