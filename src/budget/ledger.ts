// Credit ledger: reserve before a request, settle after it, believe the service's figures. Pure: the stores keep what
// these functions return. Source: API.md, "Limits" (one credit per 200) and "Envelope objects" (usage).
import type { Quota } from "../api/outcome.ts";

/** What the user allows. */
export interface Limits {
  /** Most credits this run may spend; null: no limit of its own. */
  readonly maxCredits: number | null;
  /** Credits of the organization that are left alone. */
  readonly reserve: number;
  /** `greedy`: all that is left may be spent now. `even`: an equal share for each run until the reset. */
  readonly pace: "even" | "greedy";
  /** Time between two runs, in ms: with pace `even` it says how many runs share what is left. */
  readonly runEveryMs: number;
}

export type Charge = "spent" | "free" | "ambiguous";
export type Denial = "BUDGET_SPENT" | "QUOTA_SPENT";

/** What the service said about this period. */
interface Period {
  readonly limit: number | null;
  /** Lowest figure seen: answers overtake one another, and credits only go down within a period. */
  readonly remaining: number | null;
  readonly resetsAt: number | null;
}

/** A moment without anything in flight: what the service's figure was, and what the ledger had counted. */
interface Baseline {
  readonly remaining: number;
  readonly spent: number;
}

export interface LedgerState {
  readonly limits: Limits;
  readonly spent: number;
  readonly reserved: number;
  /** When requests that died without an answer did so, ms since the epoch: each may have cost a credit. */
  readonly ambiguous: readonly number[];
  readonly period: Period | null;
  /** When charged requests were settled that `remaining` may not show yet. */
  readonly unseen: readonly number[];
  /** Ambiguous requests that `remaining` may not show yet. */
  readonly unseenAmbiguous: readonly number[];
  /** The request settled last was charged: the next observation is its own and shows it. */
  readonly reporting: boolean;
  /** Most credits for this run by even pacing; null: not paced, or the period is not known. */
  readonly paced: number | null;
  readonly baseline: Baseline | null;
}

export interface LedgerSnapshot {
  readonly spent: number;
  readonly ambiguous: number;
  readonly reserved: number;
  /** Credits this run may spend in all, those spent included; null: nothing limits it that is known. */
  readonly allowance: number | null;
  readonly remaining: number | null;
  readonly limit: number | null;
  readonly resetsAt: number | null;
}

/** Ends of periods closer together than this are the same one: some services count from now. */
const SAME_PERIOD_MS = 3_600_000;
/** A request given up here may still be served there for a while; before that no figure settles it. */
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

/** Most this run may spend by the user's word, whatever the service has left. */
const ownLimit = ({ limits, paced }: LedgerState): number => Math.min(limits.maxCredits ?? Infinity, paced ?? Infinity);

/** Credits the service has left after all that may not be subtracted yet; null: not known, or the period is over. */
const leftUpstream = ({ period, reserved, unseen, unseenAmbiguous }: LedgerState, now: number): number | null => {
  if (period === null || period.remaining === null) return null;
  if (period.resetsAt !== null && now >= period.resetsAt) return null;
  return period.remaining - reserved - unseen.length - unseenAmbiguous.length;
};

export type Reservation =
  | { readonly ok: true; readonly state: LedgerState }
  | { readonly ok: false; readonly code: Denial; readonly settling: boolean };

/**
 * Sets one credit aside. Denied with BUDGET_SPENT by the user's own limits, with QUOTA_SPENT when the organization has
 * none left; `settling`: a request in flight may still give its credit back, or tell what is left.
 */
export const reserve = (state: LedgerState, now: number): Reservation => {
  const deny = (code: Denial): Reservation => ({ ok: false, code, settling: state.reserved > 0 });
  if (committed(state) + 1 > ownLimit(state)) return deny("BUDGET_SPENT");
  const left = leftUpstream(state, now);
  const { limits } = state;
  if (left === null) {
    // The first answer tells what is left: until then one request at a time, lest several eat into the reserve.
    const careful = limits.reserve > 0 || limits.pace === "even";
    if (careful && state.reserved > 0) return deny("BUDGET_SPENT");
  } else {
    if (left < 1) return deny("QUOTA_SPENT");
    if (left - limits.reserve < 1) return deny("BUDGET_SPENT");
  }
  return { ok: true, state: { ...state, reserved: state.reserved + 1 } };
};

/** Before the first figure only what may overlap its request matters: a service without any must not fill memory. */
const recent = ({ period, unseen }: LedgerState): readonly number[] =>
  period === null ? unseen.slice(-MOST_OVERLAPPING) : unseen;

/** A request with a reserved credit ended. Ambiguous ones count as spent until the service's figures settle them. */
export const settle = (state: LedgerState, charge: Charge, at: number): LedgerState => {
  const open = { ...state, reserved: Math.max(0, state.reserved - 1), reporting: charge === "spent" };
  switch (charge) {
    case "free":
      return open;
    case "spent":
      return { ...open, spent: state.spent + 1, unseen: [...recent(state), at] };
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

/** Credits left by what the service said; null: it did not say. */
export const remainingIn = ({ remaining, limit, used }: Quota): number | null => {
  const left = remaining ?? (limit !== null && used !== null ? limit - used : null);
  return left === null ? null : Math.max(0, Math.floor(left));
};

/** Is this figure of the period the ledger is in, of a later one, or left over from an earlier one? */
export const periodOf = (
  known: Pick<Period, "resetsAt"> | null,
  resetsAt: number | null,
): "same" | "later" | "earlier" => {
  if (known === null) return "later";
  if (resetsAt === null || known.resetsAt === null) return "same";
  const apart = resetsAt - known.resetsAt;
  return Math.abs(apart) < SAME_PERIOD_MS ? "same" : apart > 0 ? "later" : "earlier";
};

/** Share of this run: what is left beyond the reserve, its own credits included, over the runs until the reset. */
const pacedShare = (limits: Limits, left: number, resetsAt: number | null, now: number): number | null => {
  if (limits.pace === "greedy" || resetsAt === null) return null;
  const runs = Math.max(1, Math.ceil((resetsAt - now) / limits.runEveryMs));
  return Math.max(1, Math.floor((left - limits.reserve) / runs));
};

/** Without anything in flight the fall of `remaining` tells how many of the ambiguous requests were charged. */
const settleAmbiguous = (state: LedgerState, remaining: number, sentAt: number): LedgerState => {
  if (state.reserved > 0 || state.unseen.length > 0) return state;
  const known = { ...state, baseline: { remaining, spent: state.spent } };
  if (state.ambiguous.length === 0) return known;
  const old = state.ambiguous.every((at) => at + AFTERMATH_MS < sentAt);
  if (!old || state.baseline === null) return state;
  const unexplained = state.baseline.remaining - remaining - (state.spent - state.baseline.spent);
  // Credits came back or were added meanwhile: the figures settle nothing, and the ledger stays on the safe side.
  if (unexplained < 0) return state;
  const spent = state.spent + Math.min(unexplained, state.ambiguous.length);
  return { ...known, spent, ambiguous: [], unseenAmbiguous: [], baseline: { remaining, spent } };
};

/**
 * Takes over what the service reports in an answer to a request sent at `sentAt`. Settle that request first: its own
 * credit is then known to be part of the figure. The service's figure always wins; of several in one period the lowest.
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
  if (relation === "same") {
    const lowest = Math.min(remaining, state.period?.remaining ?? Infinity);
    const resetsAt = quota.resetsAt ?? state.period?.resetsAt ?? null;
    const period = { limit: quota.limit ?? state.period?.limit ?? null, remaining: lowest, resetsAt };
    return settleAmbiguous({ ...seen, period }, lowest, sentAt);
  }
  // In a period of its own, this run's credits so far belong to its share only where they came out of the figure.
  const first = state.period === null;
  const before = committed(state) - state.reserved;
  const share = pacedShare(state.limits, remaining + (first ? before : 0), quota.resetsAt, now);
  return settleAmbiguous(
    {
      ...seen,
      period: { limit: quota.limit, remaining, resetsAt: quota.resetsAt },
      paced: share === null ? null : share + (first ? 0 : before),
      baseline: null,
      unseenAmbiguous: [],
    },
    remaining,
    sentAt,
  );
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
    // What was charged since the last figure is gone, too: usage routes cost a credit and carry no usage block.
    remaining: remaining === null ? null : Math.max(0, remaining - state.unseen.length),
    limit: state.period?.limit ?? null,
    resetsAt: state.period?.resetsAt ?? null,
  };
};
