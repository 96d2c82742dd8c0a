// Leases: credit reservations of an organization's shared ledger, which expire if their owner dies. An expired one counts as a request
// without a response until the service's figures, or a late report by its owner, show its charge. Pure, based on ledger.ts.
import type { Quota } from "../../api/outcome.ts";
import {
  type Charge,
  type Denial,
  type LedgerState,
  type Limits,
  observe,
  openLedger,
  periodOf,
  remainingIn,
  reserve,
  settle,
} from "./ledger.ts";

/** A credit reserved for a request. */
export interface Lease {
  readonly id: string;
  readonly leaseMs: number;
  /** Time of expiry, ms since the epoch. */
  readonly until: number;
}

/** An expired reservation, and the time under which the ledger counts it as ambiguous. */
interface Lapse {
  readonly id: string;
  readonly at: number;
}

export interface SharedLedger {
  readonly ledger: LedgerState;
  readonly open: readonly Lease[];
  readonly lapsed: readonly Lapse[];
  /** Time of the service's last figure, ms since the epoch; null: none, or no longer trusted. */
  readonly figureAt: number | null;
}

/**
 * Life of a figure of zero, because credits can be bought within a period, and a request without credits costs nothing. It also
 * does not bind runs that started after it.
 */
const ZERO_HOLDS_MS = 600_000;
/** Life of a figure that leaves nothing but the reserve: asking anew costs one of its credits. */
const RESERVE_HOLDS_MS = 86_400_000;

export const openSharedLedger = (limits: Limits): SharedLedger => ({
  ledger: openLedger(limits),
  open: [],
  lapsed: [],
  figureAt: null,
});

const isKept = (ledger: LedgerState, { at }: Lapse) =>
  ledger.ambiguous.includes(at) || ledger.unseenAmbiguous.includes(at);

/** One that ends far too late was made before the clock went back. */
const isExpired = ({ until, leaseMs }: Lease, now: number): boolean => until <= now || until > now + 2 * leaseMs;

/** Marks reservations that expired by `now` as ambiguous. */
export const lapse = (state: SharedLedger, now: number): SharedLedger => {
  const expired = state.open.filter((lease) => isExpired(lease, now));
  if (expired.length === 0) return state;
  const ledger = expired.reduce((each) => settle(each, "ambiguous", now), state.ledger);
  return {
    ...state,
    ledger,
    open: state.open.filter((lease) => !isExpired(lease, now)),
    lapsed: [...state.lapsed, ...expired.map(({ id }) => ({ id, at: now }))].filter((each) => isKept(ledger, each)),
  };
};

/** True when credits may have been bought since the figure that denies a request: it is dropped, and one request fetches a new one. */
const isOutdated = (
  code: Denial,
  figureAt: number | null,
  { now, since }: { readonly now: number; readonly since: number },
) => {
  if (figureAt === null) return false;
  // A figure of the future was taken before the clock went back.
  const ageMs = Math.abs(now - figureAt);
  return code === "QUOTA_SPENT" ? figureAt < since || ageMs >= ZERO_HOLDS_MS : ageMs >= RESERVE_HOLDS_MS;
};

export type LeaseResult =
  | { readonly ok: true; readonly state: SharedLedger }
  | { readonly ok: false; readonly code: Denial; readonly settling: boolean; readonly state: SharedLedger };

/** Reserves one credit under `lease`; an open lease stays unchanged. */
export const reserveLease = (
  before: SharedLedger,
  lease: Omit<Lease, "until">,
  now: number,
  /** Start of the requesting run, ms since the epoch. */
  since = -Infinity,
): LeaseResult => {
  const state = lapse(before, now);
  if (state.open.some(({ id }) => id === lease.id)) return { ok: true, state };
  const { ledger } = state;
  // Before the first response nothing is known about remaining credits or other spenders, so only one request is
  // sent.
  if (ledger.period === null && ledger.spent === 0 && ledger.reserved > 0) {
    return { ok: false, code: "QUOTA_SPENT", settling: true, state };
  }
  const result = reserve(ledger, now);
  if (!result.ok && !result.settling && isOutdated(result.code, state.figureAt, { now, since })) {
    const unknown = { ...ledger, period: null, paced: null, spent: 0, unseen: [] };
    return reserveLease({ ...state, ledger: unknown, figureAt: null }, lease, now, since);
  }
  if (!result.ok) return { ...result, state };
  return {
    ok: true,
    state: { ...state, ledger: result.state, open: [...state.open, { ...lease, until: now + lease.leaseMs }] },
  };
};

const without = (moments: readonly number[], at: number): readonly number[] => {
  const index = moments.indexOf(at);
  return index === -1 ? moments : moments.toSpliced(index, 1);
};

/** Corrects the ledger when an expired reservation is answered. Figures that have settled it already win. */
const correct = (ledger: LedgerState, at: number, charge: Charge, now: number): LedgerState => {
  if (charge === "ambiguous" || !ledger.ambiguous.includes(at)) return ledger;
  const open = {
    ...ledger,
    ambiguous: without(ledger.ambiguous, at),
    unseenAmbiguous: without(ledger.unseenAmbiguous, at),
  };
  if (charge === "free") return open;
  // No figure includes it yet, so it stays subtracted until one does.
  const hidden = ledger.unseenAmbiguous.includes(at);
  return { ...open, spent: ledger.spent + 1, unseen: hidden ? [...ledger.unseen, now] : ledger.unseen };
};

/** Settles a reservation; unknown or settled ones stay unchanged. */
export const settleLease = (state: SharedLedger, id: string, charge: Charge, now: number): SharedLedger => {
  if (state.open.some((lease) => lease.id === id)) {
    return {
      ...state,
      ledger: settle(state.ledger, charge, now),
      open: state.open.filter((lease) => lease.id !== id),
    };
  }
  const late = state.lapsed.find((each) => each.id === id);
  if (late === undefined) return state;
  return {
    ...state,
    // `reporting` belongs to the request settled last, and this one is not settled that way.
    ledger: { ...correct(state.ledger, late.at, charge, now), reporting: false },
    lapsed: state.lapsed.filter((each) => each.id !== id),
  };
};

/** Applies figures of the service; see `observe` of the ledger. A new period starts at zero. */
export const observeLedger = (state: SharedLedger, quota: Quota, sentAt: number, now: number): SharedLedger => {
  const { period } = state.ledger;
  const begins = period !== null && remainingIn(quota) !== null && periodOf(period, quota.resetsAt) === "later";
  const fresh = begins ? { ...state.ledger, spent: 0, ambiguous: [] } : state.ledger;
  const ledger = observe(fresh, quota, sentAt, now);
  const figureAt = remainingIn(quota) === null ? state.figureAt : now;
  return { ...state, ledger, figureAt, lapsed: state.lapsed.filter((each) => isKept(ledger, each)) };
};

/** Renews these open reservations for another term from `now`. */
export const renewLeases = (before: SharedLedger, ids: ReadonlySet<string>, now: number): SharedLedger => {
  const state = lapse(before, now);
  return {
    ...state,
    open: state.open.map((lease) => (ids.has(lease.id) ? { ...lease, until: now + lease.leaseMs } : lease)),
  };
};

/** Restores reservations that a process holds and the store lost with its memory. */
export const restoreLeases = (
  state: SharedLedger,
  held: readonly Omit<Lease, "until">[],
  now: number,
): SharedLedger => {
  const known = new Set([...state.open, ...state.lapsed].map(({ id }) => id));
  const lost = held.filter(({ id }) => !known.has(id));
  if (lost.length === 0) return state;
  return {
    ...state,
    ledger: { ...state.ledger, reserved: state.ledger.reserved + lost.length },
    open: [...state.open, ...lost.map((lease) => ({ ...lease, until: now + lease.leaseMs }))],
  };
};
